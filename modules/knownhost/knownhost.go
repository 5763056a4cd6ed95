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

// A KnownHost is a host in a known_hosts file, with all its keys: all other keys of the host are removed, since a man
// in the middle would present an old key.
type KnownHost struct {
	Name   string   `json:"name" text:"argument" required:"true" doc:"the host as clients call it: git.example.net, 192.0.2.11, [git.example.net]:2222"`
	Ensure string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether the host is known"`
	Keys   []string `json:"keys,omitempty" doc:"all its keys, as ssh-keyscan prints them after the name: type and key in base64; required for present"`
	Path   string   `json:"path,omitempty" looks:"^/" doc:"absolute path of the file; default: /etc/ssh/ssh_known_hosts"`
	Owner  string   `json:"owner,omitempty" doc:"name or id of the owner of a new file; default: the user that the play runs as"`
	// Restore is set if the resource undoes another one.
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
			"certificate authorities and revoked keys stay unchanged; hashed names are understood.",
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
		errs = append(errs, &modules.PropertyError{Path: "keys", Msg: `"keys" cannot be empty`, Hint: "ssh-keyscan HOST prints the keys of a host; compare their fingerprints with the fingerprints on the console of the host"})
	}
	for n, key := range k.Keys {
		if _, err := publickey.Parse(key); err != nil || !publickey.IsType(strings.Fields(key)[0]) {
			errs = append(errs, &modules.PropertyError{Path: fmt.Sprintf("keys[%d]", n), Msg: "this is not a public key", Hint: "write the type and the key, such as: ssh-ed25519 AAAA…"})
		}
	}
	return errors.Join(errs...)
}

// edited is the file, with its edit.
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

// edit makes a text as the resource wants it. A line of several hosts keeps the others. A new key takes the place of
// one of its type.
func (k *KnownHost) edit(t *edit.Text) (edit.Done, error) {
	missing := k.missing(t)
	seen := map[string]bool{}
	var changes []modules.Change
	known := false
	changed := t.Keep(func(rest []edit.Line) (int, []string) {
		e, ok := parse(rest[0].Text)
		at := slices.IndexFunc(e.names, k.is)
		if !ok || at < 0 {
			return 0, nil
		}
		known = true
		if k.wants(e.key) && !seen[e.key] {
			seen[e.key] = true
			return 1, []string{rest[0].Text}
		}
		change := modules.Change{Property: "key", Have: fingerprint(e.key), Want: absent}
		var lines []string
		name := e.names[at]
		if others := slices.Delete(slices.Clone(e.names), at, at+1); len(others) > 0 {
			lines = append(lines, strings.Join(others, ",")+" "+e.key+e.comment)
		}
		if next := slices.IndexFunc(missing, func(key string) bool { return keyType(key) == keyType(e.key) }); next >= 0 {
			change.Want = fingerprint(missing[next])
			lines = append(lines, name+" "+missing[next]+e.comment)
			missing = slices.Delete(missing, next, next+1)
		}
		changes = append(changes, change)
		return 1, lines
	}, func() (lines []string) {
		for _, key := range missing {
			lines = append(lines, k.Name+" "+key)
			changes = append(changes, modules.Change{Property: "key", Have: absent, Want: fingerprint(key)})
		}
		return lines
	})
	switch {
	case !changed:
		return edit.Done{}, nil
	case k.Ensure == absent:
		return edit.Done{Action: "removed the host", Changes: changes}, nil
	case known:
		return edit.Done{Action: "changed the keys", Changes: changes}, nil
	}
	return edit.Done{Action: "added the host", Changes: changes}, nil
}

// wants reports whether a key is one of the host.
func (k *KnownHost) wants(key string) bool {
	return k.Ensure != absent && slices.ContainsFunc(k.Keys, func(own string) bool { return keyOf(own) == key })
}

// missing returns the keys, each once, that no line has for the host.
func (k *KnownHost) missing(t *edit.Text) (keys []string) {
	if k.Ensure == absent {
		return nil
	}
	for _, key := range k.Keys {
		key = keyOf(key)
		has := func(line edit.Line) bool {
			e, ok := parse(line.Text)
			return ok && e.key == key && slices.ContainsFunc(e.names, k.is)
		}
		if !slices.Contains(keys, key) && !slices.ContainsFunc(t.Lines, has) {
			keys = append(keys, key)
		}
	}
	return keys
}

// An entry is a line of a key.
type entry struct {
	names   []string
	key     string // type and base64
	comment string // with the blank before it
}

// parse reads a line: SSH_KNOWN_HOSTS FILE FORMAT of sshd(8). ok is false for comments, certificate authorities and
// revoked keys.
func parse(line string) (e entry, ok bool) {
	words := strings.Fields(line)
	if len(words) < 3 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "@") {
		return entry{}, false
	}
	e = entry{names: strings.Split(words[0], ","), key: words[1] + " " + words[2]}
	if len(words) > 3 {
		e.comment = " " + strings.Join(words[3:], " ")
	}
	return e, true
}

// keyType returns the first word of a key.
func keyType(key string) string {
	word, _, _ := strings.Cut(key, " ")
	return word
}

// is reports whether a name of a line, which may be hashed, is the name of the host.
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
	parsed, _ := publickey.Parse(key) // Fingerprint also handles a key that cannot be read
	return parsed.Fingerprint()
}
