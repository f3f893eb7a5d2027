package qrcode

import "sync"

// maxPictureBytes bounds the pictures that are kept.
const maxPictureBytes = 8 << 20

type pictureKey struct {
	text   string
	format Format
	size   int
}

// pictures are those that were drawn last. They depend on nothing but the key. When
// there are too many, all are forgotten: a picture is drawn again in less time than
// it takes to send it.
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
	// Together with what the map itself takes.
	cost := len(picture) + len(key.text) + 128
	if c.entries == nil || c.bytes+cost > maxPictureBytes {
		c.entries, c.bytes = map[pictureKey][]byte{}, 0
	}
	c.entries[key] = picture
	c.bytes += cost
}
