package qrcode

import "sync"

// maxPictureBytes bounds the cached pictures.
const maxPictureBytes = 8 << 20

type pictureKey struct {
	text   string
	format Format
	size   int
}

// pictures caches recent pictures. A picture depends on its key alone. A full cache drops all
// pictures: drawing one takes less time than sending it.
var pictures pictureCache

type pictureCache struct {
	mu      sync.RWMutex
	entries map[pictureKey][]byte
	bytes   int
}

func (c *pictureCache) get(key pictureKey) ([]byte, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	picture, ok := c.entries[key]
	return picture, ok
}

func (c *pictureCache) put(key pictureKey, picture []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[key]; ok {
		return
	}
	// The sum includes the memory of the map itself.
	cost := len(picture) + len(key.text) + 128
	if c.entries == nil || c.bytes+cost > maxPictureBytes {
		c.entries, c.bytes = map[pictureKey][]byte{}, 0
	}
	c.entries[key] = picture
	c.bytes += cost
}
