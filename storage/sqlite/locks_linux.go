package sqlite

import (
	"os"
	"strings"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/sqlite"
	code "modernc.org/sqlite/lib"
)

// SQLite's usual locks are POSIX record locks. When a process closes any
// descriptor of a file, the kernel drops all POSIX locks that the process holds on
// that file. So an os.ReadFile by the host takes SQLite's locks away, and another
// program may then write beside the store, or delete the log that the store writes
// to. An open-file-description (OFD) lock belongs to its descriptor and stays.
//
// The driver can use OFD locks on the database file, but not on the -shm file.
// Those locks go through the fcntl entry of SQLite's table of system calls, and
// init replaces that entry. It needs no other change: all connections of a process
// share one descriptor of a -shm file.
//
// init changes both settings of the process, because no lock may be held meanwhile and
// no other goroutine may use SQLite.
func init() {
	if strings.HasPrefix(os.Getenv("MODERNC_SQLITE_OFD_LOCK"), "0") {
		return // the host's choice
	}
	tls := libc.NewTLS()
	defer tls.Close()
	initialized := initialized(tls)
	enabled, err := sqlite.OFDLocking(true)
	if err != nil || enabled && initialized {
		return // a file may be open with POSIX locks
	}
	if err := replaceFcntl(tls); err != nil {
		_, _ = sqlite.OFDLocking(false) // all locks are of one kind
	}
	if !initialized {
		// RegisterPageCache of the driver works only before SQLite is initialized.
		code.Xsqlite3_shutdown(tls)
	}
}

// initialized reports whether SQLite is initialized, which is when it refuses
// most calls of sqlite3_config. This one only reads a setting.
func initialized(tls *libc.TLS) bool {
	const pointer = int(unsafe.Sizeof(uintptr(0)))
	methods := tls.Alloc(int(unsafe.Sizeof(code.Tsqlite3_mutex_methods{})))
	defer tls.Free(int(unsafe.Sizeof(code.Tsqlite3_mutex_methods{})))
	args := tls.Alloc(pointer)
	defer tls.Free(pointer)
	return code.Xsqlite3_config(tls, code.SQLITE_CONFIG_GETMUTEX, libc.VaList(args, methods)) != code.SQLITE_OK
}

// replaceFcntl makes all unix VFSes of SQLite call fcntl below.
func replaceFcntl(tls *libc.TLS) error {
	name, err := libc.CString("fcntl")
	if err != nil {
		return err
	}
	defer libc.Xfree(tls, name)
	vfs := code.Xsqlite3_vfs_find(tls, 0)
	if vfs == 0 {
		return os.ErrNotExist
	}
	set := (*(**code.Tsqlite3_vfs)(unsafe.Pointer(&vfs))).FxSetSystemCall
	pointer := &struct {
		f func(*libc.TLS, int32, int32, uintptr) int32
	}{fcntl}
	result := (*(*func(*libc.TLS, uintptr, uintptr, uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{set})))(
		tls, vfs, name, *(*uintptr)(unsafe.Pointer(pointer)))
	if result != code.SQLITE_OK {
		return os.ErrInvalid
	}
	return nil
}

// fcntl is the system call, with OFD locks instead of POSIX locks while the driver
// uses them on database files. The driver decides that with the first lock of a
// database file, which comes before all locks of -shm files.
func fcntl(tls *libc.TLS, fd, command int32, args uintptr) int32 {
	ofd := command
	switch command {
	case code.F_SETLK:
		ofd = code.F_OFD_SETLK
	case code.F_GETLK:
		ofd = code.F_OFD_GETLK
	}
	if ofd != command && code.Xmodernc_ofd_locking(tls, -1) == 1 {
		rest := args
		lock := libc.VaUintptr(&rest)
		(*(**code.Tflock)(unsafe.Pointer(&lock))).Fl_pid = 0 // the kernel demands it
		command = ofd
	}
	return libc.Xfcntl(tls, fd, command, args)
}
