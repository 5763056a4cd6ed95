package authorizedkey

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/publickey"
)

// An AuthorizedKey is a line of the authorized_keys of a user. The key identifies it: options and comment may change.
// It follows Ansible's authorized_key, with intended exceptions:
//   - it creates no directory except ~/.ssh; a new directory gets mode 0700 and a new file 0600;
//   - keys are not downloaded.
type AuthorizedKey struct {
	Name      string   `json:"name" text:"argument" required:"true" doc:"any text; it is the comment of a key that has none"`
	Ensure    string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether the key is there"`
	User      string   `json:"user" required:"true" doc:"name of the user who logs in with it"`
	Key       string   `json:"key" required:"true" doc:"the line of a .pub file: type, key in base64 and, if any, a comment"`
	Options   []string `json:"options,omitempty" also:"key_options" doc:"options before the key, such as restrict, from=\"192.0.2.0/24\" or command=\"/opt/app/backup\"; see sshd(8)"`
	Exclusive bool     `json:"exclusive,omitempty" doc:"remove all other lines of the file; for several keys with this, write ssh_keys of a user"`
	Path      string   `json:"path,omitempty" looks:"^/" doc:"absolute path of the file; default: .ssh/authorized_keys in the home of the user"`
	// Restore is set if the resource undoes another one.
	Restore *edit.Restore `json:"restore,omitempty" wire:"only"`
	// MadeDir, with Restore, means that the directory of the file was created: it is removed if it is empty.
	MadeDir bool `json:"made_dir,omitempty" wire:"only"`
}

const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "authorized_key",
		Doc: "Keeps a public key in the authorized_keys of a user, with its options, or removes it. Other " +
			"keys stay unchanged, unless exclusive is true.",
		New: func() modules.Resource { return new(AuthorizedKey) },
	}
}

// Requires implements [modules.Requirer].
func (k *AuthorizedKey) Requires() modules.Requirements {
	return modules.Requirements{FullProgram: true}
}

// Validate implements [modules.Resource].
func (k *AuthorizedKey) Validate() error {
	errs := []error{modules.ValidatePath("path", k.Path), modules.ValidateLine("name", k.Name)}
	if k.User != "" && strings.ContainsAny(k.User, ":/\n \x00") {
		errs = append(errs, modules.Errorf("user", "%q is not a valid user name", k.User))
	}
	if k.Key != "" {
		errs = append(errs, k.validateKey())
	}
	for n, option := range k.Options {
		if at := fmt.Sprintf("options[%d]", n); !whole(option) {
			errs = append(errs, &modules.PropertyError{
				Path: at, Msg: fmt.Sprintf("%q is not a valid option: it has a blank or a comma outside of quotes, or a quote that is not closed", option),
				Hint: `write one option, such as from="192.0.2.0/24"`,
			})
		}
	}
	if k.Exclusive && k.Ensure == absent {
		errs = append(errs, modules.Errorf("exclusive", "'exclusive: true' is only valid with 'ensure: present', got 'ensure: absent'"))
	}
	return errors.Join(errs...)
}

// validateKey does not quote the line, which may be a private key.
func (k *AuthorizedKey) validateKey() error {
	const hint = "copy the whole line of a .pub file, such as: ssh-ed25519 AAAA… name"
	wrong := func(msg, hint string) error { return &modules.PropertyError{Path: "key", Msg: msg, Hint: hint} }
	if strings.Contains(k.Key, "PRIVATE KEY") {
		return wrong("this is a private key", "it stays where it is: "+hint)
	}
	read, err := publickey.Parse(k.Key)
	switch {
	case err != nil:
		return wrong(err.Error(), hint)
	case !publickey.IsType(strings.Fields(read.Line)[0]):
		return wrong("options go before the key", `write them into "options"`)
	}
	return nil
}

// whole reports whether a text is one option: without a blank or a comma outside of quotes.
func whole(option string) bool {
	quoted := false
	for i := 0; i < len(option); i++ {
		switch c := option[i]; {
		case c < ' ' || c == 0x7f, (c == ' ' || c == ',') && !quoted:
			return false
		case c == '\\' && i+1 < len(option) && option[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		}
	}
	return option != "" && !quoted
}

// line is the line of the file.
func (k *AuthorizedKey) line() string {
	words := strings.Fields(k.Key)
	line := strings.Join(words, " ")
	if len(words) == 2 {
		line += " " + k.Name
	}
	if len(k.Options) > 0 {
		line = strings.Join(k.Options, ",") + " " + line
	}
	return line
}

// edit changes a text to the desired one: the key stays in its first place.
func (k *AuthorizedKey) edit(t *edit.Text) (edit.Done, error) {
	want, err := publickey.Parse(k.line())
	if err != nil {
		return edit.Done{}, &modules.PropertyError{Path: "key", Msg: err.Error()}
	}
	var changes []modules.Change
	found := false
	change := func(have, want string) {
		changes = append(changes, modules.Change{Property: "key", Have: have, Want: want})
	}
	changed := t.Keep(func(rest []edit.Line) (int, []string) {
		line := rest[0].Text
		is, err := publickey.Parse(line)
		same := err == nil && is.Blob == want.Blob
		text := strings.TrimSpace(line)
		switch {
		case same && k.Ensure == absent, same && found, !same && k.Exclusive && text != "" && !strings.HasPrefix(text, "#"):
			change(is.Fingerprint(), absent)
			return 1, nil
		case !same:
			return 0, nil
		}
		if found = true; is.Line != want.Line {
			change(is.Fingerprint()+" with other options or another comment", want.Fingerprint())
			line = want.Line
		}
		return 1, []string{line}
	}, func() []string {
		if k.Ensure == absent || found {
			return nil
		}
		change(absent, want.Fingerprint())
		return []string{want.Line}
	})
	if !changed {
		return edit.Done{}, nil
	}
	action := "updated the keys"
	switch {
	case k.Ensure == absent:
		action = "removed the key"
	case !found && len(changes) == 1:
		action = "added the key"
	}
	return edit.Done{Action: action, Changes: changes}, nil
}
