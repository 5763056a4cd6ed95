package sealing

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"golang.org/x/crypto/chacha20poly1305"
)

// A Sealer seals requests of a worker that has hosts, and the answers.
type Sealer struct {
	aead    cipher.AEAD
	Handout HandoutID
}

// NewSealer returns the sealer of an assignment.
func NewSealer(key FrameKey, h HandoutID) (Sealer, error) {
	own := sha256.Sum256(append([]byte("ask\x00"), key...)) // nonces of frames count
	aead, err := chacha20poly1305.NewX(own[:])
	return Sealer{aead, h}, err
}

// The directions, so that no request is read as an answer.
const (
	ToCoordinator = "to the coordinator"
	ToWorker      = "to the worker"
)

// Seal encrypts a value as JSON, for one direction.
func (s Sealer) Seal(direction string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.SealText(direction, text), nil
}

// SealText encrypts a text for one direction.
func (s Sealer) SealText(direction string, text []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX)
	_, _ = rand.Read(nonce) // it never fails
	return s.aead.Seal(nonce, nonce, text, append(s.Handout[:], direction...))
}

// Open decrypts a text of one direction.
func (s Sealer) Open(direction string, data []byte) ([]byte, error) {
	if len(data) < chacha20poly1305.NonceSizeX {
		return nil, errors.New("it is cut")
	}
	nonce, sealed := data[:chacha20poly1305.NonceSizeX], data[chacha20poly1305.NonceSizeX:]
	return s.aead.Open(nil, nonce, sealed, append(s.Handout[:], direction...))
}
