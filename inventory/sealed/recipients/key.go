package recipients

import (
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"
)

// A Key is a public key for encryption. The zero Key means no key.
type Key struct {
	Text      string // type and key for SSH keys, without comment
	Recipient age.Recipient
}

// An unsuited error is why a key cannot be encrypted to, and what to do about it.
type unsuited struct{ msg, hint string }

func (e *unsuited) Error() string { return e.msg }

// Hint returns a text that the user can write instead.
func (e *unsuited) Hint() string { return e.hint }

const otherKey = "give this person another key: ssh-keygen -t ed25519 (a key file), or age-keygen"

// ParseKey reads a line of authorized_keys, or a recipient of age.
func ParseKey(line string) (Key, error) {
	line = strings.TrimSpace(line)
	kind, _, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "age1pq1"), strings.HasPrefix(line, "age1tagpq1"):
		return Key{}, &unsuited{"a post-quantum key of age cannot be combined with other keys", "give the age1… key that age-keygen prints without -pq"}
	case strings.HasPrefix(line, "age1") && strings.LastIndexByte(line, '1') > len("age1"):
		return Key{}, &unsuited{"a key of a plugin of age is not supported", otherKey}
	case strings.HasPrefix(line, "age1"):
		r, err := age.ParseX25519Recipient(line)
		if err != nil {
			return Key{}, &unsuited{"this is not a recipient of age", "copy it again: it begins with age1 and has 62 characters"}
		}
		return Key{r.String(), r}, nil
	case strings.HasPrefix(line, "AGE-SECRET-KEY-"), strings.Contains(line, "PRIVATE KEY"):
		return Key{}, &unsuited{"this is a private key; it must not be in this file", "create a new key, because this one is exposed; write the public key here"}
	}
	public, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	switch {
	case err != nil && (strings.HasPrefix(kind, "ssh-") || strings.HasPrefix(kind, "sk-") || strings.HasPrefix(kind, "ecdsa-")):
		return Key{}, &unsuited{fmt.Sprintf("this is not a valid key of type %s", kind), "copy the whole line from the .pub file"}
	case err != nil:
		return Key{}, &unsuited{"this is not a public key", "write an SSH public key (ssh-ed25519 AAAA… or ssh-rsa AAAA…), or a recipient of age (age1…)"}
	case len(options) > 0:
		return Key{}, &unsuited{"options of authorized_keys have no meaning here", "write the key alone"}
	}
	return sshKey(public)
}

func sshKey(public ssh.PublicKey) (Key, error) {
	text := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
	var r age.Recipient
	var err error
	switch kind := public.Type(); {
	case kind == ssh.KeyAlgoED25519:
		r, err = agessh.NewEd25519Recipient(public)
	case kind == ssh.KeyAlgoRSA:
		r, err = agessh.NewRSARecipient(public)
	case strings.HasPrefix(kind, "sk-"):
		err = &unsuited{fmt.Sprintf("a key of type %s is stored in hardware that can sign, but cannot decrypt", kind), otherKey}
	case strings.HasPrefix(kind, "ecdsa-"):
		err = &unsuited{fmt.Sprintf("a key of type %s cannot be encrypted to: age knows ssh-ed25519 and ssh-rsa", kind), otherKey}
	case strings.Contains(kind, "-cert-"):
		err = &unsuited{"this is a certificate", "write the key that it was made for: the .pub file without -cert"}
	default:
		err = &unsuited{fmt.Sprintf("a key of type %s cannot be encrypted to: age knows ssh-ed25519 and ssh-rsa", kind), otherKey}
	}
	if _, ok := errors.AsType[*unsuited](err); err != nil && !ok {
		err = &unsuited{strings.TrimPrefix(err.Error(), "agessh: "), otherKey}
	}
	return Key{text, r}, err
}
