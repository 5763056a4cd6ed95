package agefile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
)

// maxWhole bounds a file that is encrypted as a whole, in bytes.
const maxWhole = 64 << 20

const binaryStart = "age-encryption.org/"

// IsWhole reports whether age has encrypted a file as a whole.
func IsWhole(text []byte) bool {
	return bytes.HasPrefix(text, []byte(binaryStart)) || bytes.HasPrefix(text, []byte(armor.Header))
}

// DecryptWhole decrypts such a file.
func DecryptWhole(text []byte, identities []age.Identity) ([]byte, error) {
	in, err := decrypt(dearmored(text), identities)
	if err != nil {
		return nil, err
	}
	clear, err := io.ReadAll(io.LimitReader(in, maxWhole+1))
	switch {
	case err != nil:
		return nil, err
	case len(clear) > maxWhole:
		return nil, fmt.Errorf("it is larger than %d MiB", maxWhole>>20)
	}
	return clear, nil
}

// decrypt decrypts a text encrypted by age. Without identities the error is the same as if none of them matched.
func decrypt(text io.Reader, identities []age.Identity) (io.Reader, error) {
	if len(identities) == 0 {
		return nil, &age.NoIdentityMatchError{}
	}
	return age.Decrypt(text, identities...)
}

// EncryptWhole encrypts a file; armored makes it text.
func EncryptWhole(clear []byte, readers []recipients.Reader, armored bool) ([]byte, error) {
	var to []age.Recipient
	for _, r := range readers {
		to = append(to, r.Key.Recipient)
	}
	text, err := encrypt(clear, to)
	if err != nil || !armored {
		return text, err
	}
	var out bytes.Buffer
	w := armor.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// IsArmored reports whether a file that is encrypted as a whole is text.
func IsArmored(text []byte) bool { return bytes.HasPrefix(text, []byte(armor.Header)) }

func dearmored(text []byte) io.Reader {
	if IsArmored(text) {
		return armor.NewReader(bytes.NewReader(text))
	}
	return bytes.NewReader(text)
}

func encrypt(clear []byte, to []age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(clear); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// Stanzas returns the recipients of a file that is encrypted as a whole, as far as the file names them: the short names
// of SSH keys, and the number of other keys.
func Stanzas(text []byte) (ssh []string, others int, err error) {
	scan := bufio.NewScanner(io.LimitReader(dearmored(text), 1<<20))
	for scan.Scan() {
		words := bytes.Fields(scan.Bytes())
		switch {
		case bytes.HasPrefix(scan.Bytes(), []byte("---")):
			slices.Sort(ssh)
			return ssh, others, nil
		case len(words) < 2 || string(words[0]) != "->":
		case len(words) > 2 && bytes.HasPrefix(words[1], []byte("ssh-")):
			ssh = append(ssh, string(words[1])+" "+string(words[2]))
		case !bytes.HasSuffix(words[1], []byte("-grease")):
			others++
		}
	}
	return nil, 0, fmt.Errorf("it has no header of an age file")
}

// StanzasFor returns the result of [Stanzas] for a file that is encrypted for readers.
func StanzasFor(readers []recipients.Reader) (ssh []string, others int, err error) {
	for _, r := range readers {
		stanzas, err := r.Key.Recipient.Wrap(make([]byte, 16))
		if err != nil {
			return nil, 0, err
		}
		for _, s := range stanzas {
			if strings.HasPrefix(s.Type, "ssh-") {
				ssh = append(ssh, s.Type+" "+s.Args[0])
			} else {
				others++
			}
		}
	}
	slices.Sort(ssh)
	return ssh, others, nil
}
