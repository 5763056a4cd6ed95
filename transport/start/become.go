package start

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// Become describes how to run as another user.
type Become struct {
	Method   string            // "sudo", also if empty, "su" or "doas"
	User     string            // "" is root
	Password *transport.Secret // password for the method: of the login user, or for su of User; may be nil
	// Timeout is the longest time until the method requests the password, and again after it has received it: PAM may
	// query a remote directory. 0 means 2m.
	Timeout time.Duration
}

const (
	methodSudo = "sudo"
	methodSu   = "su"
	methodDoas = "doas"
)

// Methods are the ways to become another user.
var Methods = []string{methodSudo, methodSu, methodDoas}

const defaultBecomeTimeout = 2 * time.Minute

func (b *Become) user() string { return cmp.Or(b.User, "root") }

func (b *Become) method() string { return cmp.Or(b.Method, methodSudo) }

func (b *Become) timeout() time.Duration { return cmp.Or(b.Timeout, defaultBecomeTimeout) }

// readsLogin reports whether the new user can read the files of the login user. A nil b keeps the login user.
func (b *Become) readsLogin(login string) bool {
	return b == nil || b.user() == "root" || b.user() == login
}

// validate refuses values that no host can use. A nil b means no escalation.
func (b *Become) validate() error {
	if b == nil {
		return nil
	}
	switch b.method() {
	case methodSudo, methodSu, methodDoas:
	default:
		return fmt.Errorf("unknown escalation method %q; use one of %s", b.Method, strings.Join(Methods, ", "))
	}
	if b.Password == nil {
		return nil
	}
	return CheckBecomePassword(b.Password)
}

// maxPassword is the longest password that PAM takes, in bytes. PAM_MAX_RESP_SIZE includes its end.
const maxPassword = 511

// CheckBecomePassword refuses a password that cannot be typed at a prompt: an empty one, one with more than 511 bytes
// or one with the end of a line. The error shows no part of it.
func CheckBecomePassword(s *transport.Secret) error {
	switch b := s.Reveal(); {
	case len(b) == 0:
		return errors.New("the become password is empty")
	case len(b) > maxPassword:
		return fmt.Errorf("the become password is longer than %d bytes", maxPassword)
	case bytes.ContainsAny(b, "\n\r\x00"):
		return errors.New("the become password has the end of a line in it")
	}
	return nil
}

// needsTerminal reports whether the method reads a password from nothing else.
func (b *Become) needsTerminal() bool {
	return b != nil && b.Password != nil && b.method() != methodSudo
}

// untranslated keeps the messages of a method in English, since some outcomes are recognised by their words. LANGUAGE
// affects messages only, and overrides LC_ALL (GNU gettext, 2.3).
const untranslated = "/usr/bin/env LANGUAGE=C "

// announce prints a line on standard error before the method's output, then executes the method. Only the running
// command joins the two parts of the line, so a shell that prints its commands does not print the line too early. The
// chmod stops other users from writing to the terminal, as wall(1) does: the terminal carries the session.
const announce = `test -t 0 && chmod 600 $(tty); echo $0$1 >&2; shift; exec "$@"`

const announced = "become-"

// fresh runs a command without the environment of the login user: su and doas would keep PATH and more of it. sudo has
// rules of its own (sudoers(5), env_reset).
const fresh = `exec /usr/bin/env -i HOME="$HOME" USER="$USER" LOGNAME="$LOGNAME" SHELL="$SHELL" ${LANG+"LANG=$LANG"} ` +
	`PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/wrappers/bin:/run/current-system/sw/bin "$@"`

// commandLine returns the command line that has the login shell run a constant script with args as the user, or as the
// login user if b is nil.
func (b *Become) commandLine(nonce, script string, args []string) (string, error) {
	line, err := ShellLine(script, args)
	if b == nil || err != nil {
		return line, err
	}
	if err := plainWords([]string{nonce, b.user()}); err != nil {
		return "", err
	}
	introduced := "/bin/sh -c '" + announce + "' " + announced + " " + nonce + " " + untranslated
	refreshed := "/bin/sh -c '" + fresh + "' sh " + line
	switch {
	case b.method() == methodSu:
		// -c comes after the user: some su take it for another option if it comes first. One word follows, which su
		// passes to the login shell of the user.
		return introduced + "su " + b.user() + " -c " + quoted(refreshed), nil
	case b.method() == methodDoas && b.Password != nil:
		return introduced + "doas -u " + b.user() + " -- " + refreshed, nil
	case b.method() == methodDoas:
		return untranslated + "doas -n -u " + b.user() + " -- " + refreshed, nil
	case b.Password != nil:
		return untranslated + "sudo -S -p " + sudoPrompt(nonce) + " -H -u " + b.user() + " -- " + line, nil
	}
	return untranslated + "sudo -n -H -u " + b.user() + " -- " + line, nil
}

// quoted makes one word of text for sh, csh and fish alike; it has no backslash,
// newline or exclamation mark.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// sudoPrompt returns the prompt to pass to sudo; sudoAsks is the end of the prompt that sudo prints. sudo prints %% as
// %, so a shell that prints its commands does not print a prompt. %p means the account whose password sudo requests,
// which targetpw, rootpw and runaspw choose (sudo(8)).
func sudoPrompt(nonce string) string { return promptOwner + "%p:" + nonce + "%%:" }

const promptOwner = "owner="

// ownerIn returns the account that the text before the end of a prompt of sudo names, or "".
func ownerIn(text string) string {
	_, name, _ := strings.Cut(text[strings.LastIndexByte(text, '\n')+1:], promptOwner)
	name, found := strings.CutSuffix(name, ":")
	if !found || !accountForm().MatchString(name) {
		return ""
	}
	return name
}

// withoutPrompts replaces the prompts of sudo in a text.
func withoutPrompts(text, nonce, with string) string {
	prompt := regexp.MustCompile("(" + promptOwner + "[^\n]*?:)?" + regexp.QuoteMeta(sudoAsks(nonce)))
	return prompt.ReplaceAllLiteralString(text, with)
}

func sudoAsks(nonce string) string { return nonce + "%:" }

// refusal recognises the message of a method that refuses to start a program. said is its standard error, or the output
// of its terminal; asked is set if it requested a password. login is the login user, owner the account in the prompt,
// if any.
func (b *Become) refusal(exit *transport.ExitError, said string, asked bool, login, owner string) (line, hint string) {
	m := b.method()
	for l := range strings.Lines(said) {
		l = strings.TrimSpace(l)
		switch {
		case line != "": // the first one has the cause
		case excuse().MatchString(l): // sudo prints this before it prompts again
		case strings.HasPrefix(l, m+": "), m == methodSudo && (strings.Contains(l, "sudoers") || strings.HasPrefix(l, "Sorry, user")):
			line = l
		case exit.Code == 127 && strings.Contains(l, m):
			return l, "install " + m + " on the host, or connect as " + b.user()
		case exit.Code == 126 && strings.Contains(l, "env: ") && strings.Contains(l, m):
			// Also where it is missing, if a directory in PATH cannot be searched.
			return l, "is " + m + " on the host, in a place where " + login + " may execute it? else connect as " + b.user()
		}
	}
	switch {
	case line == "" && asked && exit.Code != 0:
		line = cmp.Or(transport.LastLine(b.withoutPassword(said)), exit.Error()) // in words of its own
	case line == "":
		return "", ""
	}
	return line, b.refusalHint(line, login, owner)
}

// withoutPassword returns text without the password. The terminal may have echoed it, or a hostile host may have
// repeated it to get it into the logs.
func (b *Become) withoutPassword(text string) string {
	if b == nil {
		return text
	}
	return b.Password.WithheldFrom(text)
}

// excuse matches the line that sudo prints after a wrong password if it will prompt again.
var excuse = pattern(`^Sorry, try again\.$`)

var (
	wrongPassword = pattern(`(?i)incorrect password|authentication fail|: Sorry$|no password was provided`)
	noSuchUser    = pattern(`(?i)unknown user|does not exist`)
	noPassword    = pattern(`(?i)password is required|authentication required|authorization required`)
	noTerminal    = pattern(`(?i)must have a tty|must be a tty|must be run from a terminal|a tty is required|no tty present|a terminal is required`)
)

func (b *Become) refusalHint(line, login, owner string) string {
	as := b.user()
	switch {
	case noSuchUser().MatchString(line):
		return "make the account " + as + " on the host, or name another become_user"
	case wrongPassword().MatchString(line) && b.Password == nil:
		return b.passwordHint(login)
	case wrongPassword().MatchString(line):
		return b.wrongPasswordHint(login, owner)
	case noPassword().MatchString(line) && b.Password == nil:
		return b.passwordHint(login)
	}
	switch b.method() {
	case methodSu:
		return fmt.Sprintf("may %s use su, and can %s log in there (PAM, group wheel, its shell)?", login, as)
	case methodDoas:
		return fmt.Sprintf("let %s run commands as %s in doas.conf", login, as)
	}
	return fmt.Sprintf("allow %s to run commands as %s: ccm-push sudoers prints the rule for the sudoers file of the host", login, as)
}

// unanswered explains a prompt without an answer: the password is wrong or missing.
func (b *Become) unanswered(prompts int, login, owner string) (line, hint string) {
	if prompts > 1 {
		return b.method() + " rejected the password", b.wrongPasswordHint(login, owner)
	}
	return b.method() + " requires a password", b.passwordHint(login)
}

// wrongPasswordHint names the account whose password the method has requested.
func (b *Become) wrongPasswordHint(login, owner string) string {
	hint := "check that this is the password of " + cmp.Or(owner, b.owner(login)) + " on this host"
	if owner != "" && owner != b.owner(login) {
		hint += "; sudo on this host requests this password, not the password of " + login + " (sudoers: targetpw, rootpw or runaspw)"
	}
	return hint
}

// owner returns the account whose password the method requests.
func (b *Become) owner(login string) string {
	if b.method() == methodSu {
		return b.user()
	}
	return login
}

// passwordHint returns the hint for a method that requests a password although none was given.
func (b *Become) passwordHint(login string) string {
	give := "give the password of " + b.owner(login) + " with -K or --become-password-file"
	switch b.method() {
	case methodSudo:
		return give + ", or let " + login + " run commands as " + b.user() + " without a password (sudoers: NOPASSWD)"
	case methodDoas:
		return give + ", or let " + login + " run commands as " + b.user() + " without a password (doas.conf: nopass)"
	}
	return give
}

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
		return "", fmt.Errorf("it logs in as %s, so it needs no rule to become %s", login, b.user())
	}
	for _, name := range []string{login, b.user()} {
		if !accountForm().MatchString(name) {
			return "", fmt.Errorf("the user %q is not allowed in sudoers in this form", name)
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
