package user

import (
	"errors"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/publickey"
)

// maxKeyLines bounds the number of keys.
const maxKeyLines = 1000

type key = publickey.Key

// parseKeys reads the desired keys of authorized_keys.
func parseKeys(lines []string) ([]key, error) {
	if len(lines) > maxKeyLines {
		return nil, modules.Errorf("ssh_keys", "more than %d keys", maxKeyLines)
	}
	var keys []key
	var errs []error
	first := map[string]int{}
	for i, line := range lines {
		k, err := publickey.Parse(line)
		other, twice := first[k.Blob]
		switch {
		case err != nil:
			errs = append(errs, keyError(i, line, err))
		case twice:
			errs = append(errs, modules.Errorf(element("ssh_keys", i), "the same key as %s", element("ssh_keys", other)))
		default:
			first[k.Blob] = i
			keys = append(keys, k)
		}
	}
	return keys, errors.Join(errs...)
}

// keyError does not quote the line, which may be a private key.
func keyError(i int, line string, err error) error {
	hint := "copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name"
	if strings.Contains(line, "PRIVATE KEY") {
		hint = "this is a private key, which stays where it is: " + hint
	}
	return &modules.PropertyError{Path: element("ssh_keys", i), Msg: err.Error(), Hint: hint}
}
