package sealing

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

// Seal encrypts data for each of the recipients.
func Seal(data []byte, to ...age.Recipient) ([]byte, error) {
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

// Unseal decrypts data.
func Unseal(identity age.Identity, data []byte) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(data), identity)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// A FrameKey is the key of an assignment. Only the coordinator and the worker of the assignment know it.
type FrameKey []byte

// NewFrameKey returns a random key.
func NewFrameKey() FrameKey {
	key := make([]byte, chacha20poly1305.KeySize)
	_, _ = rand.Read(key) // it never fails
	return key
}

// Sizes, in bytes. The head of a frame is not encrypted: the random id of the assignment, and the number of the frame.
const (
	HandoutSize = 16
	HeadSize    = HandoutSize + 8
	// maxPiece limits the text in a frame.
	maxPiece = queue.MaxSaid / 2
)

// A HandoutID identifies an assignment: a shard at one worker.
type HandoutID [HandoutSize]byte

// NewHandoutID returns a random id.
func NewHandoutID() (h HandoutID) {
	_, _ = rand.Read(h[:]) // it never fails
	return h
}

func nonceOf(number uint64) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSize)
	binary.BigEndian.PutUint64(nonce[4:], number)
	return nonce
}

// A FrameWriter cuts texts into frames.
type FrameWriter struct {
	aead    cipher.AEAD
	handout HandoutID
	number  uint64
}

// NewFrameWriter returns the writer of an assignment.
func NewFrameWriter(key FrameKey, h HandoutID) (*FrameWriter, error) {
	aead, err := chacha20poly1305.New(key)
	return &FrameWriter{aead: aead, handout: h}, err
}

// Frames returns the frames of a text. The first byte of a frame is 1 in the last frame, else 0.
func (w *FrameWriter) Frames(text []byte) (list [][]byte) {
	for {
		piece := text[:min(len(text), maxPiece)]
		text = text[len(piece):]
		last := byte(0)
		if len(text) == 0 {
			last = 1
		}
		head := binary.BigEndian.AppendUint64(w.handout[:], w.number)
		list = append(list, w.aead.Seal(head[:HeadSize:HeadSize], nonceOf(w.number), append([]byte{last}, piece...), head))
		w.number++
		if last == 1 {
			return list
		}
	}
}

// A FrameReader joins frames into texts.
type FrameReader struct {
	aead cipher.AEAD
	next uint64
	text []byte
}

// NewFrameReader returns a reader of frames with a key.
func NewFrameReader(key FrameKey) (*FrameReader, error) {
	aead, err := chacha20poly1305.New(key)
	return &FrameReader{aead: aead}, err
}

// HandoutOf returns the assignment of a frame.
func HandoutOf(frame []byte) (h HandoutID, ok bool) {
	if len(frame) < HeadSize {
		return h, false
	}
	copy(h[:], frame)
	return h, true
}

// Read adds a frame, and returns the text that ends with it; nil if there are further frames. It ignores a frame that was read before. A missing
// frame is an error.
func (r *FrameReader) Read(frame []byte) ([]byte, error) {
	number := binary.BigEndian.Uint64(frame[HandoutSize:HeadSize])
	if number < r.next {
		return nil, nil
	}
	if number > r.next {
		return nil, fmt.Errorf("a message of a worker is incomplete: frame %d is missing", r.next)
	}
	piece, err := r.aead.Open(nil, nonceOf(number), frame[HeadSize:], frame[:HeadSize])
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

// SealJSON encrypts a value as JSON for the holder of a key.
func SealJSON(recipient string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, err
	}
	return Seal(text, to)
}
