package agefile

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Tag is the tag of encrypted values, Marked the tag of values that must be encrypted.
const (
	Tag    = "!age"
	Marked = "!secret"
)

// A dataKey is the key of the values in one file. No other file has the same key, and each change of the readers makes
// a new one.
type dataKey [chacha20poly1305.KeySize]byte

// context returns the additional authenticated data of a value.
func context(file string, path yamlpos.Path) []byte {
	return []byte("ccm-push value 1\x00" + file + "\x00" + path.String())
}

// seal encrypts a value of a file.
func (k *dataKey) seal(file string, path yamlpos.Path, value string) string {
	aead, err := chacha20poly1305.NewX(k[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(value)+aead.Overhead())
	rand.Read(nonce) // which never fails
	return encoding.EncodeToString(aead.Seal(nonce, nonce, []byte(value), context(file, path)))
}

var errValue = errors.New("the value was not encrypted for this place")

// encoding has one form for each value, so that no bit can be changed unseen.
var encoding = base64.StdEncoding.Strict()

// parseValue decodes a value into bytes. The text may be broken into lines.
func parseValue(text string) ([]byte, error) {
	joined := strings.Join(strings.Fields(text), "")
	raw, err := encoding.DecodeString(joined)
	if err != nil || len(raw) < chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead {
		return nil, errors.New("this is not a value that ccm-push encrypted")
	}
	return raw, nil
}

// CheckValue checks the form of an encrypted value.
func CheckValue(text string) error {
	_, err := parseValue(text)
	return err
}

// open decrypts a value.
func (k *dataKey) open(file string, path yamlpos.Path, text string) (string, error) {
	raw, err := parseValue(text)
	if err != nil {
		return "", err
	}
	aead, err := chacha20poly1305.NewX(k[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	value, err := aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], context(file, path))
	if err != nil {
		return "", errValue
	}
	return string(value), nil
}
