package user

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// A User is a local user. A missing property means no change, and the host's default if the user is created. It behaves
// like Ansible's user module, with intended exceptions:
//   - a password is only accepted as a hash, and never shown;
//   - a new user without a group gets the one of the same name if it exists;
//   - a home is created together with its user, later only with create_home;
//   - a home is removed only if no user could redirect the removal to another place;
//   - SSH keys are written as the user, not as root.
type User struct {
	Name             string   `json:"name" required:"true" looks:"^[A-Za-z_][A-Za-z0-9_.-]{0,31}[$]?$" doc:"name of the user"`
	Ensure           string   `json:"ensure,omitempty" enum:"present,absent" default:"present" doc:"whether it exists; a user with running processes is not removed"`
	UID              *int     `json:"uid,omitempty" doc:"its id; default: unchanged; for a new user, chosen by the host"`
	Group            string   `json:"group,omitempty" doc:"primary group, by name or id; default for a new user: the group of the same name, if the host creates it"`
	Groups           []string `json:"groups,omitzero" doc:"its other groups, by name or id; it is removed from all others unless append is true; [] removes it from all"`
	Append           bool     `json:"append,omitempty" doc:"keep the groups that are not in groups"`
	Shell            string   `json:"shell,omitempty" looks:"^/" doc:"path of the login shell"`
	Home             string   `json:"home,omitempty" looks:"^/" doc:"path of the home directory; files in the old one are not moved"`
	CreateHome       *bool    `json:"create_home,omitempty" doc:"create the home directory; default: true for a new user; for an existing user, a missing home is created only if this is true"`
	Comment          *string  `json:"comment,omitempty" doc:"the user's full name or purpose (GECOS)"`
	System           bool     `json:"system,omitempty" doc:"a new user gets its id from the range for system accounts"`
	PasswordHash     string   `json:"password_hash,omitempty" secret:"true" doc:"the password as a crypt(3) hash such as $6$…; *: no password, so that only key logins work; !: no password, and locked"`
	PasswordLock     *bool    `json:"password_lock,omitempty" doc:"whether the password is locked; default: unchanged"`
	Expires          string   `json:"expires,omitempty" looks:"^(never|[0-9]{4}-[0-9]{2}-[0-9]{2})$" doc:"day from which on the account cannot be used, such as 2030-12-31, or never"`
	SSHKeys          []string `json:"ssh_keys,omitzero" doc:"lines of ~/.ssh/authorized_keys"`
	SSHKeysExclusive bool     `json:"ssh_keys_exclusive,omitempty" doc:"~/.ssh/authorized_keys has no other keys"`
	RemoveHome       bool     `json:"remove_home,omitempty" doc:"with ensure absent: remove the home directory with everything in it; a home that contains a mount point is refused"`
}

// The values of ensure.
const (
	present = "present"
	absent  = "absent"
)

// Type is the entry of the registry.
func Type() modules.Type {
	return modules.Type{
		Name: "user",
		Doc: "Keeps a local user as described, or removes it, with the tools of shadow-utils or BusyBox. " +
			"Passwords are given as hashes only, and never shown or put on a command line.",
		New: func() modules.Resource { return new(User) },
	}
}

// Validate implements [modules.Resource].
func (u *User) Validate() error {
	errs := []error{
		accounts.CheckName("name", u.Name),
		accounts.CheckID("uid", u.UID),
		checkAccount("group", u.Group),
		checkPath("shell", u.Shell),
		checkPath("home", u.Home),
		u.checkComment(),
		checkHash(u.PasswordHash),
		u.checkEnsure(),
	}
	for i, group := range u.Groups {
		property := element("groups", i)
		if group == "" {
			errs = append(errs, modules.Errorf(property, "the name of a group is empty"))
		}
		errs = append(errs, checkAccount(property, group))
	}
	// About the list, which may not be known yet, and not about the boolean.
	if u.Append && u.Groups == nil {
		errs = append(errs, modules.Errorf("groups", `'append: true' needs "groups"`))
	}
	if u.SSHKeysExclusive && u.SSHKeys == nil {
		errs = append(errs, modules.Errorf("ssh_keys", `'ssh_keys_exclusive: true' needs "ssh_keys"`))
	}
	if _, err := parseExpiry(u.Expires); err != nil {
		errs = append(errs, err)
	}
	_, err := parseKeys(u.SSHKeys)
	return errors.Join(append(errs, err)...)
}

func (u *User) checkEnsure() error {
	switch {
	case u.Name == "root" && u.Ensure == absent:
		return modules.Errorf("ensure", "the user root cannot be absent")
	case u.RemoveHome && u.Ensure != absent:
		return modules.Errorf("remove_home", "'remove_home: true' is only valid with 'ensure: absent'")
	}
	return nil
}

// checkAccount takes names and ids.
func checkAccount(property, nameOrID string) error {
	if _, ok := accounts.ID(nameOrID); ok {
		return nil
	}
	return accounts.CheckName(property, nameOrID)
}

func checkPath(property, value string) error {
	switch {
	case value == "":
		return nil
	case strings.ContainsFunc(value, reserved):
		return modules.Errorf(property, "%q has a colon or a control character", value)
	case !path.IsAbs(value):
		return modules.Errorf(property, "%q is not an absolute path", value)
	case path.Clean(value) != value:
		return &modules.PropertyError{Path: property, Msg: fmt.Sprintf("%q is not canonical", value), Hint: "write " + path.Clean(value)}
	case property == "home" && value == "/":
		return modules.Errorf(property, "the root directory cannot be a home")
	}
	return nil
}

func (u *User) checkComment() error {
	if u.Comment != nil && strings.ContainsFunc(*u.Comment, reserved) {
		return modules.Errorf("comment", "%q has a colon or a control character", *u.Comment)
	}
	return nil
}

// reserved reports whether no field of passwd(5) may have a character.
func reserved(r rune) bool { return r == ':' || r < ' ' || r == 0x7f }

// element names one element of a list property.
func element(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

const (
	never  = "never"
	oneDay = 24 * time.Hour
)

// parseExpiry returns the days from 1970 to a date in the form of shadow(5); "" means no end. 1970-01-01 is refused,
// since shadow(5) does not allow it.
func parseExpiry(text string) (days string, err error) {
	if text == "" || text == never {
		return "", nil
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil || date.Unix() < int64(oneDay/time.Second) {
		return "", &modules.PropertyError{
			Path: "expires",
			Msg:  strconv.Quote(text) + " is not a date after 1970-01-01",
			Hint: "write a date such as 2030-12-31, or the word never",
		}
	}
	return strconv.FormatInt(date.Unix()/int64(oneDay/time.Second), 10), nil
}

// describeExpiry writes the days of shadow(5) as expires does.
func describeExpiry(days string) string {
	n, err := strconv.ParseInt(days, 10, 32)
	if err != nil || n < 0 {
		return never
	}
	return time.Unix(n*int64(oneDay/time.Second), 0).UTC().Format(time.DateOnly)
}
