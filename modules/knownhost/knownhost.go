package knownhost

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/publickey"
)

// A KnownHost is a host in a known_hosts file, with all the keys that it has: keys of it that are not
// given are removed, since an old key is what somebody in the middle would show.
type KnownHost struct {
	Name   string   `json:"name" text:"argument" required:"true" doc:"the host as clients call it: git.example.net, 192.0.2.11, [git.example.net]:2222"`
	Ensure string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether the host is known"`
	Keys   []string `json:"keys,omitempty" doc:"all its keys, as ssh-keyscan prints them behind the name: type and key in base64; required for present"`
	Path   string   `json:"path,omitempty" looks:"^/" doc:"absolute path of the file; default: /etc/ssh/ssh_known_hosts"`
	Owner  string   `json:"owner,omitempty" doc:"name or id of the user that a new file belongs to; default: the user the play works as"`
	// Restore is set where the resource undoes another one.
	Restore *edit.Restore `json:"restore,omitempty" wire:"only"`
}

const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "known_host",
		Doc: "Keeps the public keys of a host in a known_hosts file, or keeps the host out of it. Other hosts, " +
			"certificate authorities and revoked keys stay as they are; hashed names are understood.",
		New: func() modules.Resource { return new(KnownHost) },
	}
}

// Requires implements [modules.Requirer].
func (k *KnownHost) Requires() modules.Requirements { return modules.Requirements{FullProgram: true} }

// Validate implements [modules.Resource].
func (k *KnownHost) Validate() error {
	errs := []error{modules.ValidatePath("path", k.Path)}
	if strings.ContainsAny(k.Name, ", \t\n\x00#*?!|@") {
		errs = append(errs, &modules.PropertyError{Path: "name", Msg: fmt.Sprintf("%q names no host", k.Name), Hint: "write one name or address, with a port as [host]:2222"})
	}
	if k.Ensure != absent && len(k.Keys) == 0 && k.Restore == nil {
		errs = append(errs, &modules.PropertyError{Path: "keys", Msg: "keys cannot be empty", Hint: "ssh-keyscan prints the keys of a host; compare their fingerprints with those that its console shows"})
	}
	for n, key := range k.Keys {
		if _, err := publickey.Parse(key); err != nil || !publickey.IsType(strings.Fields(key)[0]) {
			errs = append(errs, &modules.PropertyError{Path: fmt.Sprintf("keys[%d]", n), Msg: "this is no public key", Hint: "write type and key, such as: ssh-ed25519 AAAA…"})
		}
	}
	return errors.Join(errs...)
}

// edited is the file, and what is done to it.
func (k *KnownHost) edited() *edit.File {
	return &edit.File{
		Path: cmp.Or(k.Path, "/etc/ssh/ssh_known_hosts"), Edit: k.edit, Restore: k.Restore,
		Optional: k.Ensure == absent, Create: true, Owner: k.Owner, Mode: "0644",
	}
}

// Check implements [modules.Resource].
func (k *KnownHost) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	return k.edited().Check(ctx, h)
}

// Apply implements [modules.Resource].
func (k *KnownHost) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return k.edited().Apply(ctx, h, p)
}

// edit makes a text as the resource wants it. A line of several hosts keeps the others.
func (k *KnownHost) edit(t *edit.Text) (edit.Done, error) {
	wanted := map[string]bool{}
	for _, key := range k.Keys {
		wanted[keyOf(key)] = k.Ensure != absent
	}
	var kept []edit.Line
	var changes []modules.Change
	known := false
	for _, line := range t.Lines {
		names, key, ok := parse(line.Text)
		at := slices.IndexFunc(names, k.is)
		if !ok || at < 0 {
			kept = append(kept, line)
			continue
		}
		known = true
		if wanted[key] {
			wanted[key] = false
			kept = append(kept, line)
			continue
		}
		changes = append(changes, modules.Change{Property: "key", Have: fingerprint(key), Want: absent})
		if names = slices.Delete(names, at, at+1); len(names) > 0 {
			line.Text = strings.Join(names, ",") + " " + key
			kept = append(kept, line)
		}
	}
	t.Lines = kept
	for _, key := range k.Keys {
		if key = keyOf(key); wanted[key] {
			wanted[key] = false
			t.Insert(len(t.Lines), k.Name+" "+key)
			changes = append(changes, modules.Change{Property: "key", Have: absent, Want: fingerprint(key)})
		}
	}
	switch {
	case len(changes) == 0:
		return edit.Done{}, nil
	case k.Ensure == absent:
		return edit.Done{Action: "removed the host", Changes: changes}, nil
	case known:
		return edit.Done{Action: "changed the keys", Changes: changes}, nil
	}
	return edit.Done{Action: "added the host", Changes: changes}, nil
}

// parse reads a line: SSH_KNOWN_HOSTS FILE FORMAT of sshd(8). Comments, certificate authorities and
// revoked keys are none.
func parse(line string) (names []string, key string, ok bool) {
	words := strings.Fields(line)
	if len(words) < 3 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "@") {
		return nil, "", false
	}
	return strings.Split(words[0], ","), words[1] + " " + words[2], true
}

// is reports whether a name of a line, which may be hashed, is that of the host.
func (k *KnownHost) is(name string) bool {
	rest, hashed := strings.CutPrefix(name, "|1|")
	if !hashed {
		return name == k.Name
	}
	salt, sum, _ := strings.Cut(rest, "|")
	key, err := base64.StdEncoding.DecodeString(salt)
	want, wrong := base64.StdEncoding.DecodeString(sum)
	if err != nil || wrong != nil {
		return false
	}
	mac := hmac.New(sha1.New, key)
	mac.Write([]byte(k.Name))
	return hmac.Equal(mac.Sum(nil), want)
}

// keyOf is a key without a comment.
func keyOf(key string) string {
	words := strings.Fields(key)
	return strings.Join(words[:min(2, len(words))], " ")
}

func fingerprint(key string) string {
	parsed, _ := publickey.Parse(key) // of one that cannot be read it says so
	return parsed.Fingerprint()
}
