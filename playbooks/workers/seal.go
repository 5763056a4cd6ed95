package workers

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// sealTo encrypts for the holder of a key.
func sealTo(recipient string, data []byte) ([]byte, error) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, err
	}
	return seal(data, to)
}

// seal encrypts for any of the recipients.
func seal(data []byte, to ...age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

func unseal(identity age.Identity, data []byte) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(data), identity)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// A frameKey is for what one worker says of one shard. It is known to the coordinator and, sealed, to
// that worker.
type frameKey []byte

func newFrameKey() frameKey {
	key := make([]byte, chacha20poly1305.KeySize)
	_, _ = rand.Read(key) // it never fails
	return key
}

// The head of a frame, which is in the clear: the time that the shard was handed out, 16 bytes that
// say nothing, and the number of the frame.
const (
	handoutSize = 16
	headSize    = handoutSize + 8
	// maxPiece is how much of a text a frame has.
	maxPiece = queue.MaxSaid / 2
)

// A handout is one time that a shard was given to a worker.
type handoutID [handoutSize]byte

func newHandoutID() (h handoutID) {
	_, _ = rand.Read(h[:]) // it never fails
	return h
}

func nonceOf(number uint64) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSize)
	binary.BigEndian.PutUint64(nonce[4:], number)
	return nonce
}

// A frameWriter cuts texts into frames.
type frameWriter struct {
	aead    cipher.AEAD
	handout handoutID
	number  uint64
}

func newFrameWriter(key frameKey, h handoutID) (*frameWriter, error) {
	aead, err := chacha20poly1305.New(key)
	return &frameWriter{aead: aead, handout: h}, err
}

// frames are those of one text; the first byte of each says whether it is the last of them.
func (w *frameWriter) frames(text []byte) (list [][]byte) {
	for {
		piece := text[:min(len(text), maxPiece)]
		text = text[len(piece):]
		last := byte(0)
		if len(text) == 0 {
			last = 1
		}
		head := binary.BigEndian.AppendUint64(w.handout[:], w.number)
		list = append(list, w.aead.Seal(head[:headSize:headSize], nonceOf(w.number), append([]byte{last}, piece...), head))
		w.number++
		if last == 1 {
			return list
		}
	}
}

// A frameReader puts texts together again.
type frameReader struct {
	aead cipher.AEAD
	next uint64
	text []byte
}

func newFrameReader(key frameKey) (*frameReader, error) {
	aead, err := chacha20poly1305.New(key)
	return &frameReader{aead: aead}, err
}

// handoutOf is whose frame it is.
func handoutOf(frame []byte) (h handoutID, ok bool) {
	if len(frame) < headSize {
		return h, false
	}
	copy(h[:], frame)
	return h, true
}

// read takes a frame, and gives the text that ends with it; nil if none does. One that has come
// before is left out. One that is missing is an error.
func (r *frameReader) read(frame []byte) ([]byte, error) {
	number := binary.BigEndian.Uint64(frame[handoutSize:headSize])
	if number < r.next {
		return nil, nil
	}
	if number > r.next {
		return nil, fmt.Errorf("a message of a worker is incomplete: frame %d is missing", r.next)
	}
	piece, err := r.aead.Open(nil, nonceOf(number), frame[headSize:], frame[:headSize])
	if err != nil || len(piece) == 0 {
		return nil, errors.New("a message of a worker was changed in transit")
	}
	r.next++
	r.text = append(r.text, piece[1:]...)
	if piece[0] == 0 {
		return nil, nil
	}
	text := r.text
	r.text = nil
	return text, nil
}

// sealJSON seals a value.
func sealJSON(recipient string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return sealTo(recipient, text)
}
