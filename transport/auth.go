package transport

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// The authentication methods, by the names of RFC 4252 and RFC 4256.
const (
	methodPublicKey = "publickey"
	methodKeyboard  = "keyboard-interactive"
	methodPassword  = "password"
)

// defaultMethods is OpenSSH's order (ssh_config, PreferredAuthentications).
var defaultMethods = []string{methodPublicKey, methodKeyboard, methodPassword}

// An authRecord is what happened during one authentication.
type authRecord struct {
	allowed []string // methods the host accepts, if it said so
	tried   []string // methods that are over: failed, or of no further use
	partial int      // methods that the host was content with, asking for another
	banner  string   // what the host said last before the login, quoted

	arranged bool     // the keys were put in order
	offers   []offer  // keys to ask about, less those that have been accepted
	held     int      // how many keys more there are than a host may be asked about
	asked    []offer  // keys that the host was asked about
	remarks  []string // why keys are missing among them
	signed   string   // id of the key that was used last

	passwordUsed bool   // the host has seen the password
	askedAgain   bool   // it asked once more after that
	otherPrompts int    // prompts of the host that are not for a password alone
	prompt       string // the first of them, quoted
	rounds       int    // messages of the host that asked nothing
}

// next picks what to try next, in the order of the target's methods; nil means
// that nothing is left. No method is tried again once it has failed, unless the
// host asks for another one as well (RFC 4252, 5.1: partial success).
func (l *login) next(ctx context.Context, a *ssh.ClientAuthContext) ssh.AuthMethod {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.auth.allowed = a.AllowedMethods
	if len(a.PartialSuccessMethods) > l.auth.partial {
		l.auth.partial = len(a.PartialSuccessMethods)
		l.accepted(a.PartialSuccessMethods[l.auth.partial-1])
	}
	methods := l.target.Methods
	if methods == nil {
		methods = defaultMethods
	}
	for _, m := range methods {
		if !slices.Contains(a.AllowedMethods, m) || slices.Contains(l.auth.tried, m) {
			continue
		}
		l.auth.tried = append(l.auth.tried, m)
		switch m {
		case methodPublicKey:
			return ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return l.offer(ctx) })
		case methodKeyboard:
			if l.hasPassword() {
				return ssh.KeyboardInteractive(l.answer)
			}
		case methodPassword:
			if l.hasPassword() {
				return ssh.PasswordCallback(l.password)
			}
		}
	}
	return nil
}

// accepted notes that the host was content with a method and wants another one
// besides. That may be a second key, but never the same one.
func (l *login) accepted(method string) {
	if method == methodPublicKey {
		l.auth.offers = slices.DeleteFunc(l.auth.offers, func(o offer) bool { return keyID(o) == l.auth.signed })
		l.auth.tried = slices.DeleteFunc(l.auth.tried, func(m string) bool { return m == methodPublicKey })
	}
}

// maxBanner is how much a host may say before the login, in bytes.
const maxBanner = 64 << 10

// heardBanner keeps the beginning of what the host says last before the login (RFC
// 4252, 5.4): first comes what it says to everybody, and then why it refuses.
func (l *login) heardBanner(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(text) > maxBanner {
		return fmt.Errorf("its banner is longer than %d KiB", maxBanner>>10)
	}
	if text = strings.TrimSpace(text); text != "" {
		l.auth.banner = QuoteExcerpt(text)
	}
	return nil
}

// remember keeps the key that has just let us in.
func (l *login) remember() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.auth.signed != "" {
		l.dialer.last.set(l.target.User, l.auth.signed)
	}
}

// authError explains a login that the host ended.
func (l *login) authError(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if IsHangUp(err) {
		return l.target.Fail(OpAuthenticate, HangUpCause(err), l.auth.said())
	}
	if err = WithoutHandshake(err); l.auth.isExpiry(err) {
		hint := fmt.Sprintf("that of %s has expired: change it with %s", l.target.User, l.target.SSHCommand())
		return l.target.Fail(OpAuthenticate, fmt.Errorf("%w: the host wants a new password", ErrAuth), hint)
	}
	err = fmt.Errorf("%w: %w", ErrAuth, err)
	return l.target.Fail(OpAuthenticate, err, l.auth.hint(l.target))
}

// hint says what was tried, and what to do about its failure.
func (a *authRecord) hint(t Target) string {
	var parts []string
	switch {
	case len(a.asked) > 0:
		names := make([]string, len(a.asked))
		for i, o := range a.asked {
			names[i] = o.name
		}
		next := "check authorized_keys on the host"
		if left := len(a.offers) - len(a.asked) + a.held; left > 0 && a.partial == 0 {
			next = fmt.Sprintf("%d more were not offered, since a host allows only so many (sshd_config: MaxAuthTries): "+
				"name the right key with private_key, or with IdentityFile and IdentitiesOnly in ssh_config", left)
		}
		parts = append(parts, fmt.Sprintf("offered %s as %s; %s", strings.Join(names, ", "), t.User, next))
	case a.allowed != nil && !slices.Contains(a.allowed, methodPublicKey):
		if a.wantsPassword() {
			break
		}
		parts = append(parts, fmt.Sprintf("the host takes no keys from %s, only %s", t.User, strings.Join(a.allowed, ", ")))
	case t.Password == nil && t.uses(methodPublicKey):
		parts = append(parts, "there was no key to offer as "+t.User+"; name one with private_key or add one to the agent")
	}
	parts = append(parts, a.passwordHints(t)...)
	if t.Methods != nil {
		parts = append(parts, "nothing but "+strings.Join(t.Methods, ", ")+" may be tried")
	}
	if said := a.said(); said != "" {
		parts = append(parts, said)
	}
	return strings.Join(append(parts, a.remarks...), "; ")
}

// said is what the host said last before the login; "" if nothing.
func (a *authRecord) said() string {
	if a.banner == "" {
		return ""
	}
	return "the host said " + a.banner
}

// uses reports whether a method may be tried.
func (t Target) uses(method string) bool {
	return t.Methods == nil || slices.Contains(t.Methods, method)
}
