#!/usr/bin/env python3
"""Explicit-state model of the commit over PostgreSQL: breadth-first search, hashed states. Run scenarios.py.

The library validates by the log of commits (vmode="log"): a commit fails if a later one than the newest that the
process knows has changed what its functions read. Other ways of validation are kept, to compare.

Server: committed rows, accounts, ordered records, commit log, tokens; transactions that advance
statement by statement with READ COMMITTED (each statement reads the newest commit) or REPEATABLE READ
snapshots; one FIFO lock, freed at COMMIT after the writes are visible; unique keys that wait for
the transaction that holds them; deadlocks; a second server for a promotion.
Clients: processes with a cache, batches in flight, functions over the cache, validation, reruns,
the locked session, lost answers, tombstones, crashes. Ghosts: real time, running balances, pagers.
"""
import sys, time
from collections import namedtuple, deque
from itertools import permutations, combinations

MISS = 'MISS'
S = namedtuple('S', 'rows acc ordr com toks schema lock q txs procs calls pag bud flags hist')
T = namedtuple('T', 'tid kind tok prog pc b snap own num res dead')       # a transaction of the server
B = namedtuple('B', 'p slot calls known seen schema pre reads absn writes ins posts breads shorts ev results locked')
P = namedtuple('P', 'alive cache cacc known seen schema slots')
SL = namedtuple('SL', 'ph calls tok att tid b')                             # a batch in flight of a process
C = namedtuple('C', 'st res start')                                         # new, run, ans, unk
COM = namedtuple('COM', 'num tok chg')

DEF = dict(
    validate=True, l_reads=True, v_abs=True, v_refused=True, v_bal=True, v_short='predicate',  # 'predicate','none'
    vmode='version',           # 'version' | 'value'
    ro='lock',                 # batches without writes: 'lock','snap' (one snapshot), 'multi' (a statement per table), 'none'
    tok='under',               # 'under' the lock, with the commit row | 'first', before everything
    tomb='commits',            # tombstone in storage_commits with number max+1 | 'own' table
    tomblock=False, tombkind=False, anyuniq=True,   # tombkind: a retry of the resolver tells its tombstone from a commit
    keys_pre=False,            # idempotency keys before the lock
    pre_in_reads=True,         # a read absence of an id that the batch inserts before the lock stays in the read set
    known_assert=False, seen_assert=False, seen_check=False, schema_assert=False,
    num='max',                 # max+1 by the inserting statement under the lock | 'seq': nextval under the lock | 'before': nextval before it
    early=False,               # mutation: lock freed before the commit is visible
    iso='RC', maxatt=2, batch=2, slots=1, lose=0, losetomb=0, crash=0, fail=0, ddl=0, vis_unrep=False,
    pagers=0, check_serial=True, nodeadlock=True, feed='lock', merge='naive', retention=0, cancel=0, tokgc=0, lists=(), nolocked=False, postcheck=True, lowest='prefix', panic_ok=True, neverarrive=True,
)

class Missing(Exception):
    def __init__(s, what): s.what = what

class View:
    """what a function sees: own writes, the batch's, then base"""
    def __init__(v, base, bacc):
        v.base, v.bacc = base, bacc
        v.w, v.reads, v.absn, v.breads, v.shorts = {}, {}, set(), {}, []
        v.posts, v.ev, v.pre = [], [], []
        v.call = None
    def begin(v): v.call = dict(w=dict(v.w), posts=list(v.posts), ev=list(v.ev), pre=list(v.pre))
    def undo(v): v.w, v.posts, v.ev, v.pre = v.call['w'], v.call['posts'], v.call['ev'], v.call['pre']
    def _state(v, k):
        if k in v.w: return v.w[k][1]
        s = v.base(k)
        if s == MISS: raise Missing(('r', k))
        if s is None: v.absn.add(k)
        else: v.reads[k] = s
        return s
    def get(v, k):
        s = v._state(k)
        return None if s is None else s[1]
    def put(v, k, val):
        s = v._state(k)
        base = v.w[k][0] if k in v.w else s
        v.w[k] = (base, (1 if s is None else (s[0] + (0 if k in v.w and v.w[k][2] else 1)), val), True)
    def delete(v, k):
        s = v._state(k)
        base = v.w[k][0] if k in v.w else s
        v.w[k] = (base, None, True)
    def insert(v, k, val):      # id made by this process
        v.w[k] = (None, (1, val), True); v.pre.append(k)
    def blind(v, k, val):       # caller-chosen key, without reading it
        v.w[k] = (None, (1, val), True)
    def _bal(v, a):
        s = v.bacc(a)
        if s == MISS: raise Missing(('a', a))
        return s
    def balance(v, a):
        s = v._bal(a); v.breads[a] = s
        return s[0] + sum(m for x, m in v.posts if x == a)
    def post(v, legs, guarded=()):
        for a, m in legs:
            if a in guarded:
                s = v._bal(a)
                pend = sum(x for y, x in v.posts if y == a)
                if s[0] + pend + m < 0:
                    v.shorts.append((a, pend, m)); return False
        v.posts += legs
        return True
    def event(v, i): v.ev.append(i)

class Model:
    def __init__(m, name, fns, where, rows, acc, nproc=2, guarded=(), retry=None, keys=(), host=(), restart=False, cache=None, initknown=None, **opt):
        m.name, m.fns, m.where, m.nproc, m.guarded = name, fns, where, nproc, frozenset(guarded)
        m.o = dict(DEF); m.o.update(opt)
        m.rows0, m.acc0, m.retry, m.keys, m.host, m.restart = tuple(rows), tuple(acc), retry or {}, set(keys), set(host), restart
        m.cache0 = cache
        m.memo = {}
    def init(m):
        nk, na = len(m.rows0), len(m.acc0)
        procs = []
        for p in range(m.nproc):
            c = m.cache0[p] if m.cache0 and m.cache0[p] else (None, None)
            procs.append(P(True, c[0] or (MISS,) * nk, c[1] or (MISS,) * na, (1, 'z'), (1, 'z'), 0, (None,) * m.o['slots']))
        o = m.o
        return S(m.rows0, m.acc0, (), (COM(1, 'z', frozenset()),), (), 0, None, (), (), tuple(procs),
                 tuple(C('new', None, 0) for _ in m.fns), ((0, 0),) * o['pagers'],
                 (o['lose'], o['losetomb'], o['crash'], o['fail'], o['ddl'], o['retention'], o['cancel'], o['tokgc']), frozenset(), ())
    # ---- client
    def runfns(m, calls, base, bacc):
        v = View(base, bacc); results = []
        for c in calls:
            v.begin()
            r = m.fns[c](v)
            if isinstance(r, tuple) and r[0] == 'refused': v.undo()
            results.append(r)
        return v, results
    def mkbatch(m, p, slot, calls, P_, v, results, locked):
        o = m.o
        wr, ins = [], []
        for k, (base, new, _) in sorted(v.w.items()):
            if k in v.pre: continue
            if base is None and new is None: continue
            if base is None: ins.append((k, new))
            else: wr.append((k, base[0], new))
        pre = [(k, v.w[k][1]) for k in v.pre]
        if o['keys_pre']:
            pre += [x for x in ins if x[0] in m.keys]; ins = [x for x in ins if x[0] not in m.keys]
        absn = set(v.absn)
        if not o['pre_in_reads']: absn -= {k for k, _ in pre}
        return B(p, slot, calls, P_.known, P_.seen, P_.schema, tuple(pre), tuple(sorted(v.reads.items())), tuple(sorted(absn)),
                 tuple(wr), tuple(ins), tuple(v.posts), tuple(sorted(v.breads.items())), tuple(v.shorts), tuple(v.ev), tuple(results), locked)
    def prog(m, b):
        o = m.o
        haswrites = b.pre or b.writes or b.ins or b.posts or b.ev
        if not haswrites and o['ro'] != 'lock':
            return {'snap': ('ROSNAP', 'ROEND'), 'multi': ('RO1', 'RO2', 'ROEND'), 'none': ('ROEND',)}[o['ro']]
        pr = []
        if o['tok'] == 'first': pr.append('TOK')
        if o['num'] == 'before': pr.append('NUM')
        if b.pre: pr.append('PRE')
        pr += ['LOCK', 'CHECK', 'WRITE']
        if b.posts: pr.append('POST')
        if o['num'] != 'before': pr.append('NUM')
        pr.append('COMMIT')
        if o['early']: pr.append('VISIBLE')
        return tuple(pr)
    # ---- search
    def run(m, limit=180, maxstates=3_000_000, want=None, quiet=False):
        t0 = time.time(); s0 = m.init()
        seen = {s0: None}; q = deque([s0]); n = 0
        bad = None; deep = 0
        while q:
            s = q.popleft(); n += 1
            if n & 1023 == 0 and (time.time() - t0 > limit or len(seen) > maxstates): bad = ('INCOMPLETE', None, None); break
            succ, viol = m.succ(s)
            if viol: bad = (viol, s, None); break
            real = False
            stop = False
            for lab, t, v in succ:
                if not lab.startswith('fault'): real = True
                if v: bad = (v, s, lab); stop = True; break
                if t not in seen: seen[t] = (s, lab); q.append(t)
            if stop: break
            if not real:
                v = m.terminal(s)
                if v: bad = (v, s, None); break
        m.states, m.secs = len(seen), time.time() - t0
        m.bad = bad
        m.trace = []
        if bad and bad[1] is not None:
            tr = [] if bad[2] is None else [bad[2]]
            x = bad[1]
            while seen[x]: tr.append(seen[x][1]); x = seen[x][0]
            m.trace = tr[::-1]
        return bad
    # ---- terminal check: strict serializability by brute force
    def terminal(m, s):
        for i, c in enumerate(s.calls):
            if c.st == 'run': return 'stuck: call %d' % i
            if c.st == 'new' and m.procof(s, i) is not None: return 'stuck: call %d never ran' % i
        if not m.o['check_serial']: return None
        key = (s.calls, s.rows, s.acc, frozenset(n for _, n in s.ordr))
        if key in m.memo: return m.memo[key]
        r = m.serial(s); m.memo[key] = r
        return r
    def serial(m, s):
        must = [i for i, c in enumerate(s.calls) if c.st == 'ans' and c.res != 'failed']
        may = [i for i, c in enumerate(s.calls) if c.st in ('unk', 'new') and c.start >= 0 and c.st == 'unk']
        final = (tuple(None if r is None else r[1] for r in s.rows), tuple(a for a in s.acc))
        for n in range(len(may) + 1):
            for extra in combinations(may, n):
                for perm in permutations(must + list(extra)):
                    pos = {c: i for i, c in enumerate(perm)}
                    if any(pos[j] > pos[i] for i in perm for j in perm if s.calls[i].start >> j & 1): continue
                    rows, acc, evs = list(m.rows0), list(m.acc0), set()
                    ok = True
                    for c in perm:
                        v, (r,) = m.runfns((c,), lambda k: rows[k], lambda a: acc[a])
                        if s.calls[c].st == 'ans' and r != s.calls[c].res: ok = False; break
                        for k, w in v.w.items(): rows[k] = w[1]
                        for a, x in v.posts: acc[a] = (acc[a][0] + x, acc[a][1] + 1)
                        evs |= set(v.ev)
                    if not ok: continue
                    if (tuple(None if r is None else r[1] for r in rows), tuple(acc)) == final and evs == {i for _, i in s.ordr}:
                        return None
        return 'NOT SERIALIZABLE: results %s, final %s %s' % ([(c.st, c.res) for c in s.calls], final, sorted(i for _, i in s.ordr))
    # ---- transitions
    def procof(m, s, i):
        """the process that runs call i, or None if it may not start"""
        if i in m.retry:
            first = s.calls[m.retry[i]]
            if first.st not in ('unk', 'ans'): return None
        p = m.where[i]
        if not s.procs[p].alive: return None
        return p
    def succ(m, s):
        out = []
        o = m.o
        add = lambda lab, t, v=None: out.append((lab, t, v))
        ansmask = sum(1 << i for i, c in enumerate(s.calls) if c.st == 'ans')
        # start batches
        for p in range(m.nproc):
            pr = s.procs[p]
            if not pr.alive: continue
            free = [i for i, x in enumerate(pr.slots) if x is None]
            if free:
                pend = [i for i in range(len(m.fns)) if s.calls[i].st == 'new' and m.procof(s, i) == p]
                for n in range(1, min(o['batch'], len(pend)) + 1):
                    cs = tuple(pend[:n])
                    calls = list(s.calls)
                    for c in cs: calls[c] = C('run', None, ansmask)
                    if cs[0] in m.host:
                        if n > 1: continue
                        add('P%d host begins call %s' % (p, cs), m.starthost(s._replace(calls=tuple(calls)), p, free[0], cs))
                    else:
                        add('P%d starts calls %s' % (p, cs), m.slot(s._replace(calls=tuple(calls)), p, free[0], SL('run', cs, None, 0, None, None)))
            for i, x in enumerate(pr.slots):
                if x is None: continue
                if x.ph == 'run': m.runslot(s, p, i, x, add)
                elif x.ph == 'lost': m.resolve(s, p, i, x, add)
                elif x.ph in ('sent', 'tomb', 'locked'):
                    t = next((t for t in s.txs if t.tid == x.tid), None)
                    if t is None: continue
                    if t.res is not None and not t.dead: m.deliver(s, p, i, x, t, add)
                    if x.ph in ('sent',) and s.bud[0] and not t.dead:
                        add('fault: the answer to %s is lost' % t.tid, m.slot(m.deadtx(m.spend(s, 0), t), p, i, x._replace(ph='lost')))
                        if t.pc == 0 and o['neverarrive'] and t.tid not in s.q and s.lock != t.tid:
                            add('fault: %s never arrives' % t.tid, m.slot(m.spend(s, 0)._replace(txs=tuple(y for y in s.txs if y.tid != t.tid)), p, i, x._replace(ph='lost')))
                    if x.ph == 'tomb' and s.bud[1] and not t.dead:
                        add('fault: the answer to the tombstone %s is lost' % t.tid, m.slot(m.deadtx(m.spend(s, 1), t), p, i, x._replace(ph='lost')))
            if s.bud[2] and any(pr.slots):
                t = m.spend(s, 2)
                calls = list(t.calls)
                for x in pr.slots:
                    if x:
                        for c in x.calls: calls[c] = calls[c]._replace(st='unk')
                txs = tuple(y if y.b is None or y.b.p != p else y._replace(dead=True) for y in t.txs)
                np = pr._replace(alive=m.restart, cache=(MISS,) * len(pr.cache), cacc=(MISS,) * len(pr.cacc), known=(0, ''), seen=(0, ''), slots=(None,) * len(pr.slots))
                add('fault: P%d dies' % p, m.gc(t._replace(calls=tuple(calls), txs=txs, procs=t.procs[:p] + (np,) + t.procs[p + 1:])))
        # the server
        waits = {}
        for t in s.txs:
            if t.res is not None: continue
            r = m.step(s, t, add)
            if r: waits[t.tid] = r
        for tid in waits:
            x, path = tid, []
            while x in waits and x not in path:
                path.append(x); x = waits[x]
            if x == tid:
                t = next(y for y in s.txs if y.tid == tid)
                v = 'DEADLOCK ' + ' -> '.join('%s(%s at %s)' % (y, next(z for z in s.txs if z.tid == y).kind, next(z for z in s.txs if z.tid == y).prog[next(z for z in s.txs if z.tid == y).pc]) for y in path) if o['nodeadlock'] else None
                add('deadlock: the server ends %s' % tid, m.abort(s, t, ('deadlock',)), v)
        # half a pipeline of a dead client: the server may end it before the commit
        for t in s.txs:
            if t.dead and t.res is None and t.kind != 'tomb' and t.b is not None and not s.procs[t.b.p].alive and t.prog[t.pc] not in ('VISIBLE',):
                add('fault: the server sees the end of the connection of %s' % t.tid, m.abort(s, t, ('gone',)))
        # pagers
        for i, cur in enumerate(s.pag):
            nxt = [e for e in sorted(s.ordr) if e > cur]
            if nxt: add('pager %d reads %s' % (i, nxt[0]), s._replace(pag=s.pag[:i] + (nxt[0],) + s.pag[i + 1:]))
        # a schema change by a newer program, under the lock
        if s.bud[4] and s.lock is None and not s.q:
            add('fault: a newer program changes the schema and commits', m.spend(s, 4)._replace(schema=s.schema + 1))
        if s.bud[5] and len(s.com) > 1:
            add('fault: retention removes old commits', m.spend(s, 5)._replace(com=s.com[-1:]))
        if s.bud[6]:
            for t in s.txs:
                if t.res is None and t.kind != 'tomb' and t.prog[t.pc] not in ('COMMIT', 'VISIBLE') and t.pc:
                    add('fault: %s is cancelled at %s (statement_timeout, lock_timeout, an operator)' % (t.tid, t.prog[t.pc]), m.abort(m.spend(s, 6), t, ('deadlock',)))
        if s.bud[7] and any(k == 't' for _, k in s.toks):
            add('fault: retention removes the tombstones', m.spend(s, 7)._replace(toks=tuple(x for x in s.toks if x[1] != 't')))
        # promotion: the last commit is lost. Its process has had no answer.
        if s.bud[3] and s.hist:
            rows, acc, ordr, com, toks, calls = s.hist[-1][:6]
            lost = s.hist[-1][6]
            owner = [c for c in lost if s.calls[c].st == 'ans']
            if not owner:
                t = m.spend(s, 3)._replace(rows=rows, acc=acc, ordr=ordr, com=com, toks=toks, lock=None, q=(), hist=())
                procs = list(t.procs)
                for p, pr in enumerate(procs):
                    procs[p] = pr._replace(slots=tuple(x if x is None or x.ph == 'run' else x._replace(ph='lost') for x in pr.slots))
                t = t._replace(txs=(), procs=tuple(procs))
                v = None
                for cur in s.pag:
                    pass
                add('fault: promotion of a standby without commit %s' % (s.com[-1].num,), t, v)
        return out, None
    def spend(m, s, i): return s._replace(bud=s.bud[:i] + (s.bud[i] - 1,) + s.bud[i + 1:])
    def slot(m, s, p, i, x):
        pr = s.procs[p]
        return s._replace(procs=s.procs[:p] + (pr._replace(slots=pr.slots[:i] + (x,) + pr.slots[i + 1:]),) + s.procs[p + 1:])
    def proc(m, s, p, **kw): return s._replace(procs=s.procs[:p] + (s.procs[p]._replace(**kw),) + s.procs[p + 1:])
    def deadtx(m, s, t):
        if t.res is not None: return s._replace(txs=tuple(y for y in s.txs if y.tid != t.tid))
        return m.puttx(s, t._replace(dead=True))
    def puttx(m, s, t): return s._replace(txs=tuple(t if y.tid == t.tid else y for y in s.txs))
    def gc(m, s): return s._replace(txs=tuple(t for t in s.txs if not (t.dead and t.res is not None)))
    def newtid(m, s, base):
        n = 0
        used = {t.tid for t in s.txs}
        while '%s%s' % (base, "'" * n) in used: n += 1
        return '%s%s' % (base, "'" * n)
    def runslot(m, s, p, i, x, add):
        pr = s.procs[p]
        if x.att >= m.o['maxatt'] or any(c in m.o['lists'] for c in x.calls):
            viol = 'LOCKED SESSION without a writer beside it' if m.o['nolocked'] else None
            b = B(p, i, x.calls, pr.known, pr.seen, s.schema, (), (), (), (), (), (), (), (), (), (), True)
            tid = m.newtid(s, 'L%d.%d' % (p, i))
            tok = 'k%d.%d.L%s' % (p, x.calls[0], tid)
            pg = ('LOCK', 'LRUN', 'PRE', 'WRITE', 'POST', 'NUM', 'COMMIT') + (('VISIBLE',) if m.o['early'] else ())
            if m.o['tok'] == 'first': pg = ('TOK',) + pg
            t = T(tid, 'locked', tok, pg, 0, b, None, (), None, None, False)
            add('P%d takes the locked session for %s' % (p, x.calls), m.slot(s, p, i, x._replace(ph='locked', tok=tok, tid=tid))._replace(txs=s.txs + (t,)), viol)
            return
        try:
            v, res = m.runfns(x.calls, lambda k: pr.cache[k], lambda a: pr.cacc[a])
        except Missing as e:
            kind, k = e.what
            newest = (s.com[-1].num, s.com[-1].tok)
            seen = max(pr.seen, newest)
            if m.o['seen_check']:      # the read proves that the commit seen before is still there
                seen = newest
                if pr.seen not in [(c.num, c.tok) for c in s.com]:
                    pr = pr._replace(cache=(MISS,) * len(pr.cache), cacc=(MISS,) * len(pr.cacc))
                    s = m.proc(s, p, cache=pr.cache, cacc=pr.cacc)
            if kind == 'r':
                add('P%d reads row %d = %s without the lock' % (p, k, s.rows[k]), m.proc(s, p, cache=pr.cache[:k] + (s.rows[k],) + pr.cache[k + 1:], seen=seen))
            else:
                add('P%d reads account %d = %s without the lock' % (p, k, s.acc[k]), m.proc(s, p, cacc=pr.cacc[:k] + (s.acc[k],) + pr.cacc[k + 1:], seen=seen))
            return
        b = m.mkbatch(p, i, x.calls, pr, v, res, False)
        tid = m.newtid(s, 'T%d.%d' % (p, i))
        tok = 'k%d.%d.%d%s' % (p, x.calls[0], x.att, x.tok or '')
        pg = m.prog(b)
        t = T(tid, 'pipe', tok, pg, 0, b, None, (), None, None, False)
        add('P%d runs %s on its cache -> %s, sends %s' % (p, x.calls, res, tid), m.slot(s, p, i, x._replace(ph='sent', tok=tok, tid=tid, b=b))._replace(txs=s.txs + (t,)))
    def starthost(m, s, p, i, cs):
        pr = s.procs[p]
        b = B(p, i, cs, pr.known, pr.seen, s.schema, (), (), (), (), (), (), (), (), (), (), True)
        tid = m.newtid(s, 'H%d.%d' % (p, i))
        pg = ('SNAP', 'LOCK', 'LRUN', 'PRE', 'WRITE', 'POST', 'NUM', 'COMMIT') + (('VISIBLE',) if m.o['early'] else ())
        t = T(tid, 'host', 'k' + tid, pg, 0, b, None, (), None, None, False)
        return m.slot(s, p, i, SL('locked', cs, t.tok, 9, tid, None))._replace(txs=s.txs + (t,))
    def resolve(m, s, p, i, x, add):
        tid = m.newtid(s, 'R%d.%d' % (p, i))
        pg = (('LOCK',) if m.o['tomblock'] else ()) + ('TTOK', 'TCOMMIT')
        b = B(p, i, x.calls, None, None, None, (), (), (), (), (), (), (), (), (), (), False)
        t = T(tid, 'tomb', x.tok, pg, 0, b, None, (), None, None, False)
        add('P%d resolves %s by tombstone %s' % (p, x.tok, tid), m.slot(s, p, i, x._replace(ph='tomb', tid=tid))._replace(txs=s.txs + (t,)))
    # ---- one statement of a transaction; returns the tid it waits for
    def holder(m, s, t, what):
        for y in s.txs:
            if y.tid != t.tid and y.res is None and what in y.own: return y.tid
        return None
    def adv(m, s, t, **kw): return m.puttx(s, t._replace(pc=t.pc + 1, **kw))
    def abort(m, s, t, why):
        s = m.puttx(s, t._replace(res=('abort',) + why, own=()))
        return m.gc(m.unlock(s, t))
    def unlock(m, s, t):
        if s.lock == t.tid:
            s = s._replace(lock=s.q[0] if s.q else None, q=s.q[1:])
        elif t.tid in s.q: s = s._replace(q=tuple(x for x in s.q if x != t.tid))
        return s
    def step(m, s, t, add):
        o, b, op = m.o, t.b, t.prog[t.pc]
        if m.o['iso'] == 'RR' and t.kind == 'pipe' and t.snap is None:
            t = t._replace(snap=(s.rows, s.acc, s.com))
        if op == 'SNAP':
            add('%s takes its first snapshot' % t.tid, m.adv(s, t, snap=(s.rows, s.acc, s.com) if o['iso'] == 'RR' else None)); return
        rows, acc, com = t.snap or (s.rows, s.acc, s.com)
        tokd = dict(s.toks)
        if op == 'TOK':
            h = m.holder(s, t, ('tok', t.tok))
            if h: return h
            if t.tok in tokd: add('%s: its token is taken, 23505' % t.tid, m.abort(s, t, ('tok',))); return
            add('%s inserts its token' % t.tid, m.adv(s, t, own=t.own + (('tok', t.tok),))); return
        if op == 'PRE':
            for k, _ in b.pre:
                h = m.holder(s, t, ('row', k))
                if h: return h
                if s.rows[k] is not None: add('%s: id %d is taken, 23505' % (t.tid, k), m.abort(s, t, ('uniq', k))); return
            add('%s inserts %s %s the lock' % (t.tid, [k for k, _ in b.pre], 'under' if s.lock == t.tid else 'before'), m.adv(s, t, own=t.own + tuple(('row', k) for k, _ in b.pre))); return
        if op == 'LOCK':
            if s.lock == t.tid: add('%s has the lock' % t.tid, m.adv(s, t)); return
            if s.lock is None and not s.q: add('%s locks' % t.tid, m.adv(s._replace(lock=t.tid), t)); return
            if t.tid not in s.q: add('%s queues for the lock' % t.tid, m.puttx(s, t)._replace(q=s.q + (t.tid,))); return
            n = s.q.index(t.tid)
            return s.lock if n == 0 else s.q[n - 1]
        if op == 'LRUN':
            v, res = m.runfns(b.calls, lambda k: rows[k], lambda a: acc[a])
            nb = m.mkbatch(b.p, b.slot, b.calls, s.procs[b.p], v, res, True)._replace(schema=s.schema)
            n = m.adv(s, t, b=nb)
            x = s.procs[b.p].slots[b.slot]
            if not t.dead and x is not None: n = m.slot(n, b.p, b.slot, x._replace(b=nb))
            add('%s runs %s under the lock -> %s' % (t.tid, b.calls, res), n); return
        if op == 'CHECK':
            if o['schema_assert'] and b.schema != s.schema: add('%s: the schema has changed, fails' % t.tid, m.abort(s, t, ('schema',))); return
            for on, kn in (('known_assert', b.known), ('seen_assert', b.seen)):
                if o[on] and kn not in [(c.num, c.tok) for c in s.com]: add('%s: commit %s is gone, fails' % (t.tid, kn), m.abort(s, t, ('lost',))); return
            st = m.stale(t, b, rows, acc, 'all', com)
            if st: add('%s: validation fails on %s' % (t.tid, st), m.abort(s, t, ('stale', st))); return
            add('%s validates' % t.tid, m.adv(s, t)); return
        if op == 'WRITE':
            for k, ver, _ in b.writes:
                if rows[k] is None or rows[k][0] != ver or s.rows[k] != rows[k]: add('%s: CAS of %d fails' % (t.tid, k), m.abort(s, t, ('stale', (('r', k),)))); return
            for k, _ in b.ins:
                h = m.holder(s, t, ('row', k))
                if h: return h
                if s.rows[k] is not None: add('%s: key %d is taken, 23505' % (t.tid, k), m.abort(s, t, ('uniq', k))); return
            add('%s writes' % t.tid, m.adv(s, t)); return
        if op == 'POST':
            e, cur = [], {}
            bad = None
            low = {}
            for a, x in b.posts:
                bal, n = cur.get(a, acc[a]); bal, n = bal + x, n + 1
                cur[a] = (bal, n); e.append((a, n, x, bal)); low[a] = min(low.get(a, 0), bal - acc[a][0])
            for a in cur:
                worst = acc[a][0] + (low[a] if o['lowest'] == 'prefix' else cur[a][0] - acc[a][0])
                if a in m.guarded and o['postcheck'] and worst < 0: bad = a
                if t.snap and s.acc[a] != acc[a]: add('%s: 40001' % t.tid, m.abort(s, t, ('stale', (('a', a),)))); return
            if bad is not None: add('%s: account %d is short' % (t.tid, bad), m.abort(s, t, ('short',))); return
            add('%s posts' % t.tid, m.adv(s, t, own=t.own + (('entries', tuple(e)),))); return
        if op == 'NUM':
            num = max(c.num for c in com) + 1
            if o['num'] == 'clock': num = max([num] + [f + 1 for f in s.flags])   # greatest(max + 1, the server's clock)
            if o['num'] in ('before', 'seq'):      # nextval of a sequence
                num = 1 + max([c.num for c in s.com] + [w[1] for y in s.txs for w in y.own if w[0] == 'num'])
            for y in s.txs:
                if y.tid != t.tid and y.res is None and ('num', num) in y.own:
                    return y.tid
            if num in [c.num for c in s.com]: add('%s: number %d is taken, 23505' % (t.tid, num), m.abort(s, t, ('uniqnum',))); return
            if o['tok'] == 'under':
                h = m.holder(s, t, ('tok', t.tok))
                if h: return h
                if t.tok in tokd: add('%s: its token is taken, 23505' % t.tid, m.abort(s, t, ('tok',))); return
            own = t.own + (('num', num),) + ((('tok', t.tok),) if o['tok'] == 'under' else ())
            add('%s takes number %d' % (t.tid, num), m.adv(s, t, own=own, num=num)); return
        if op == 'COMMIT':
            if o['early']: add('%s frees the lock' % t.tid, m.unlock(m.adv(s, t), t)); return
            m.commit(s, t, add); return
        if op == 'VISIBLE': m.commit(s, t, add); return
        if op == 'TTOK':
            if o['tomb'] == 'commits':
                num = max(c.num for c in s.com) + 1
                h = m.holder(s, t, ('num', num)) or m.holder(s, t, ('tok', t.tok))
                if h:
                    # after the wait the statement fails with 23505 if the holder committed
                    y = next(y for y in s.txs if y.tid == h)
                    if ('num', num) in y.own and ('tok', t.tok) not in y.own:
                        add('%s waits for number %d of %s' % (t.tid, num, h), m.puttx(s, t._replace(prog=t.prog[:t.pc] + ('TWAIT',) + t.prog[t.pc + 1:], num=num, snap=None)))
                        return
                    return h
                if t.tok in tokd: return m.found(s, t, tokd[t.tok], add)
                add('%s inserts the tombstone with number %d' % (t.tid, num), m.adv(s, t, own=t.own + (('num', num), ('tok', t.tok)), num=num)); return
            h = m.holder(s, t, ('tok', t.tok))
            if h: return h
            if t.tok in tokd: return m.found(s, t, tokd[t.tok], add)
            add('%s inserts the tombstone' % t.tid, m.adv(s, t, own=t.own + (('tok', t.tok),))); return
        if op == 'TWAIT':
            h = m.holder(s, t, ('num', t.num))
            if h: return h
            if t.num in [c.num for c in s.com]:
                if o['anyuniq']: return m.found(s, t, 'c', add, ' (of the number!)')
                add('%s: number taken, tries again' % t.tid, m.puttx(s, t._replace(prog=t.prog[:t.pc] + ('TTOK',) + t.prog[t.pc + 1:], num=None))); return
            add('%s goes on' % t.tid, m.puttx(s, t._replace(prog=t.prog[:t.pc] + ('TTOK',) + t.prog[t.pc + 1:], num=None))); return
        if op == 'TCOMMIT':
            n = s._replace(toks=tuple(sorted(s.toks + ((t.tok, 't'),))))
            if o['tomb'] == 'commits': n = n._replace(com=n.com + (COM(t.num, t.tok, frozenset()),))
            n = m.puttx(n, t._replace(res=('dead',), own=()))
            add('%s commits the tombstone' % t.tid, m.gc(m.unlock(n, t))); return
        if op in ('ROSNAP', 'RO1', 'RO2'):
            st = m.stale(t, b, s.rows, s.acc, {'ROSNAP': 'all', 'RO1': 'rows', 'RO2': 'rest'}[op], s.com)
            if st: add('%s: validation fails on %s' % (t.tid, st), m.abort(s, t, ('stale', st))); return
            add('%s validates (%s) without the lock' % (t.tid, op), m.adv(s, t)); return
        if op == 'ROEND':
            add('%s ends' % t.tid, m.gc(m.puttx(s, t._replace(res=('commit', None, s.com, (), ()))))); return
        raise Exception(op)
    def found(m, s, t, kind, add, note=''):
        k = kind if m.o['tombkind'] else 'c'
        n = m.puttx(s, t._replace(res=('found',) if k == 'c' else ('dead',), own=()))
        add('%s: 23505, token is there%s -> reports %s' % (t.tid, note, 'committed' if k == 'c' else 'dead'), m.gc(m.unlock(n, t)))
    def stale(m, t, b, rows, acc, part, com):
        o = m.o
        st = []
        if not o['validate']: return ()
        if b.locked: return ()
        refused = all(isinstance(r, tuple) and r[0] == 'refused' for r in b.results)
        if refused and not o['v_refused']: return ()
        if o['vmode'] == 'log':
            if (b.known[0], b.known[1]) not in [(c.num, c.tok) for c in com]: return (('r', 0),)
            chg = set()
            for c in com:
                if c.num > b.known[0]: chg |= set(c.chg)
            for k, v in b.reads:
                if k in chg and o['l_reads']: st.append(('r', k))
            for k in b.absn:
                if k in chg and o['v_abs']: st.append(('r', k))
            for a, v in b.breads:
                if ('a', a) in chg and o['v_bal']: st.append(('a', a))
            for a, pend, x in b.shorts:
                if ('a', a) in chg and o['v_short'] == 'predicate': st.append(('a', a))
            return tuple(st)
        own = {k for k, _ in b.pre}
        half = (lambda k: part == 'all' or (part == 'rows') == (k == 0))
        for k, v in b.reads:
            if not half(k): continue
            if rows[k] is None or rows[k][0] != v[0] or (o['vmode'] == 'value' and rows[k] != v): st.append(('r', k))
        if o['v_abs']:
            for k in b.absn:
                if not half(k): continue
                if rows[k] is not None or k in own: st.append(('r', k))
        if part != 'rows':
            if o['v_bal']:
                for a, v in b.breads:
                    if acc[a][1] != v[1] or (o['vmode'] == 'value' and acc[a] != v): st.append(('a', a))
            if o['v_short'] == 'predicate':
                for a, pend, x in b.shorts:
                    if acc[a][0] + pend + x >= 0: st.append(('a', a))
        return tuple(st)
    def commit(m, s, t, add):
        b = t.b
        rows, acc = list(s.rows), list(s.acc)
        viol = None
        for k, new in b.pre + b.ins: rows[k] = new
        for k, ver, new in b.writes: rows[k] = new
        for x in t.own:
            if x[0] == 'entries':
                for a, n, amt, bal in x[1]:
                    if n != acc[a][1] + 1 or bal != acc[a][0] + amt: viol = 'ENTRY wrong: account %d has %s, entry number %d balance %d' % (a, acc[a], n, bal)
                    acc[a] = (acc[a][0] + amt, acc[a][1] + 1)
                    if a in m.guarded and acc[a][0] < 0: viol = 'GUARDED account %d is %d' % (a, acc[a][0])
        num = t.num
        onum = max([num] + [f + 1 for f in s.flags]) if m.o['num'] == 'both' else num   # the commit's number stays max+1, ordered ones follow the clock
        evs = tuple((onum, e) for e in b.ev)
        for e in evs:
            for i, cur in enumerate(s.pag):
                if e <= cur: viol = 'PAGER %d at %s misses %s' % (i, cur, e)
        if s.schema != b.schema: viol = viol or ('OLD SCHEMA: rows of schema %d committed under %d' % (b.schema, s.schema))
        chg = frozenset([k for k, _ in b.pre + b.ins] + [k for k, _, _ in b.writes] + [('a', a) for a, _ in b.posts])
        hist = s.hist
        if s.bud[3]: hist = hist + ((s.rows, s.acc, s.ordr, s.com, s.toks, s.calls, b.calls),); hist = hist[-1:]
        n = s._replace(rows=tuple(rows), acc=tuple(acc), ordr=s.ordr + evs, com=s.com + (COM(num, t.tok, chg),),
                       toks=tuple(sorted(s.toks + ((t.tok, 'c'),))), hist=hist, flags=frozenset([max([onum] + list(s.flags))]) if m.o['num'] in ('clock', 'both') else s.flags)
        feed = tuple(c for c in s.com)
        n = m.puttx(n, t._replace(res=('commit', num, n.com, tuple(rows), tuple(acc)), own=()))
        add('%s COMMITS as %d' % (t.tid, num), m.gc(m.unlock(n, t)), viol)
    # ---- answers
    def deliver(m, s, p, i, x, t, add):
        pr = s.procs[p]
        s1 = s._replace(txs=tuple(y for y in s.txs if y.tid != t.tid))
        if t.res[0] == 'commit':
            calls = list(s.calls)
            for c, r in zip(t.b.calls, t.b.results): calls[c] = calls[c]._replace(st='ans', res=r)
            cache, cacc = list(pr.cache), list(pr.cacc)
            known, seen = pr.known, pr.seen
            if t.res[1] is not None and t.kind != 'host':
                for c in (t.res[2] if m.o['feed'] != 'none' else ()):
                    if c.num > pr.known[0] and c.num != t.res[1]:
                        for k in c.chg:
                            if isinstance(k, tuple): cacc[k[1]] = MISS
                            else: cache[k] = MISS
                mine = next(c for c in t.res[2] if c.num == t.res[1])
                for k, new in t.b.pre + t.b.ins: cache[k] = new
                for k, _, new in t.b.writes: cache[k] = new
                for a, _ in t.b.posts: cacc[a] = t.res[4][a]
                if m.o['seen_check'] and seen not in [(c.num, c.tok) for c in t.res[2]]: cache, cacc, seen, known = [MISS] * len(cache), [MISS] * len(cacc), (0, ''), (0, '')
                known = max(known, (mine.num, mine.tok)); seen = max(seen, known)
            s1 = m.proc(s1, p, cache=tuple(cache), cacc=tuple(cacc), known=known, seen=seen)
            add('P%d gets the answer of %s %s' % (p, t.tid, list(t.b.results)), m.slot(s1, p, i, None)._replace(calls=tuple(calls))); return
        if t.res[0] == 'found':
            calls = list(s.calls)
            res = x.b.results
            for c, r in zip(x.calls, res): calls[c] = calls[c]._replace(st='ans', res=r)
            s1 = m.proc(s1, p, cache=(MISS,) * len(pr.cache), cacc=(MISS,) * len(pr.cacc))
            add('P%d learns that %s happened' % (p, x.tok), m.slot(s1, p, i, None)._replace(calls=tuple(calls))); return
        if t.res[0] == 'dead':
            s1 = m.proc(s1, p, cache=(MISS,) * len(pr.cache), cacc=(MISS,) * len(pr.cacc))
            add('P%d learns that %s never happens, runs again' % (p, x.tok), m.slot(s1, p, i, SL('run', x.calls, x.tok + 'r' if len(x.tok) < 12 else x.tok, x.att + 1, None, None))); return
        why = t.res[1]
        if t.kind == 'host':
            calls = list(s.calls)
            for c in x.calls: calls[c] = calls[c]._replace(st='ans', res='failed')
            add('P%d host: %s fails with %s' % (p, t.tid, t.res), m.slot(s1, p, i, None)._replace(calls=tuple(calls))); return
        cache, cacc = list(pr.cache), list(pr.cacc)
        seen, known = pr.seen, pr.known
        if why == 'stale':
            newest = (s.com[-1].num, s.com[-1].tok)
            if m.o['seen_check']:
                if pr.seen not in [(c.num, c.tok) for c in s.com]: cache, cacc = [MISS] * len(cache), [MISS] * len(cacc)
                seen = newest
            for kk, k in t.res[2]:
                if kk == 'r': cache[k] = s.rows[k]
                else: cacc[k] = s.acc[k]
            seen = max(seen, newest)
        elif why in ('uniq', 'schema', 'lost', 'short', 'tok', 'uniqnum', 'deadlock', 'gone'):
            cache, cacc = [MISS] * len(cache), [MISS] * len(cacc)
            if why in ('lost', 'tok'): known = seen = (s.com[-1].num, s.com[-1].tok)
        s1 = m.proc(s1, p, cache=tuple(cache), cacc=tuple(cacc), seen=seen, known=known, schema=s.schema)
        att = x.att + 1
        if why == 'short': att = m.o['maxatt']
        if why == 'schema':
            calls = list(s.calls)
            for c in x.calls: calls[c] = calls[c]._replace(st='ans', res='failed')
            add('P%d: %s fails, ErrNewer' % (p, t.tid), m.slot(s1, p, i, None)._replace(calls=tuple(calls))); return
        if why == 'tok' :
            add('P%d: %s late, token is dead' % (p, t.tid), m.slot(s1, p, i, SL('run', x.calls, x.tok, att, None, None))); return
        add('P%d hears that %s failed: %s' % (p, t.tid, t.res[1:]), m.slot(s1, p, i, SL('run', x.calls, None, att, None, None)))
