package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const header = "$ANSIBLE_VAULT;"

// An envelope is an encrypted text, taken apart.
type envelope struct {
	label         string // label of the password that encrypted it; "" if the text has none
	salt, mac, ct []byte
}

// parse splits a text into its parts. Errors show nothing of the encrypted text.
func parse(text string) (e envelope, err error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	words := strings.Split(strings.TrimSpace(first), ";")
	switch {
	case !strings.HasPrefix(first, header):
		return e, fmt.Errorf("it does not begin with %s", header)
	case len(words) < 3 || words[2] != "AES256":
		return e, errors.New("only AES256 is known, from ansible-vault 1.1 on; ansible-vault rekey writes it")
	case words[1] == "1.1" && len(words) == 3:
	case words[1] == "1.2" && len(words) == 4:
		e.label = words[3]
	default:
		return e, fmt.Errorf("its header %q is not of the formats 1.1 and 1.2", strings.Join(words[1:], ";"))
	}
	body, err := hex.DecodeString(strings.Join(strings.Fields(rest), ""))
	if err != nil {
		return e, errors.New("its lines are not all hexadecimal")
	}
	parts := bytes.Split(body, []byte("\n"))
	if len(parts) != 3 {
		return e, errors.New("the encrypted text is incomplete, or text was added to it")
	}
	for i, to := range []*[]byte{&e.salt, &e.mac, &e.ct} {
		if *to, err = hex.DecodeString(string(parts[i])); err != nil {
			return e, errors.New("the encrypted text is incomplete, or text was added to it")
		}
	}
	if len(e.mac) != sha256.Size || len(e.ct) == 0 || len(e.ct)%aes.BlockSize != 0 {
		return e, errors.New("the encrypted text is incomplete, or text was added to it")
	}
	return e, nil
}

// rounds of PBKDF2, which the format fixes.
const rounds = 10_000

// open decrypts with a password; ok reports whether the password is right.
func (e envelope) open(password []byte) (text []byte, ok bool) {
	const key = 32
	derived, err := pbkdf2.Key(sha256.New, string(password), e.salt, rounds, 2*key+aes.BlockSize)
	if err != nil { // FIPS mode wants longer salts than some have
		return nil, false
	}
	mac := hmac.New(sha256.New, derived[key:2*key])
	mac.Write(e.ct)
	if !hmac.Equal(mac.Sum(nil), e.mac) {
		return nil, false
	}
	block, err := aes.NewCipher(derived[:key])
	if err != nil { // of 32 bytes there is always one
		return nil, false
	}
	text = make([]byte, len(e.ct))
	cipher.NewCTR(block, derived[2*key:]).XORKeyStream(text, e.ct)
	padding := int(text[len(text)-1]) // PKCS #7
	if padding == 0 || padding > aes.BlockSize || padding > len(text) {
		return nil, false
	}
	return text[:len(text)-padding], true
}
