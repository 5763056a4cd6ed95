package start

import (
	"fmt"
	"strings"
)

// accountForm is a name that stands for one account in sudoers(5), and for nothing
// else: not a group, a netgroup, an alias (which has capitals only), or a number.
var accountForm = pattern(`^[a-z_][A-Za-z0-9_.@-]*\$?$`)

// SudoersRule is a line of sudoers(5) that lets login run what [Program]
// runs as another user, without a password, and nothing else. The arguments of the
// script may be any: it only passes them on.
func SudoersRule(login string, b *Become) (string, error) {
	if b.method() != methodSudo {
		return "", fmt.Errorf("it becomes %s with %s, not with sudo", b.user(), b.method())
	}
	if login == b.user() {
		return "", fmt.Errorf("it logs in as %s, who needs no rule to be %s", login, b.user())
	}
	for _, name := range []string{login, b.user()} {
		if !accountForm().MatchString(name) {
			return "", fmt.Errorf("the user %q cannot stand in sudoers as it is", name)
		}
	}
	return fmt.Sprintf("%s ALL=(%s) NOPASSWD: /bin/sh -c %s sh *", login, b.user(), sudoersEscaped(script)), nil
}

// sudoersEscaped writes an argument so that sudoers(5) means it literally: what
// separates there, what begins a comment, and what fnmatch(3) would match with.
func sudoersEscaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`,:=\#*?[]!"`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
