package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// The authentication methods, by the names of RFC 4252 and RFC 4256.
const (
	methodPublicKey = "publickey"
	methodKeyboard  = "keyboard-interactive"
	methodPassword  = "password"
)

// defaultMethods is OpenSSH's order (ssh_config, PreferredAuthentications).
var defaultMethods = []string{methodPublicKey, methodKeyboard, methodPassword}

// A Login is one attempt to log in, and what happened during it. x/crypto/ssh calls its
// methods from goroutines of its own.
type Login struct {
	*Credentials
	signing func(sign func())

	mu      sync.Mutex
	allowed []string // methods the host accepts, if it said so
	tried   []string // methods that are over: failed, or of no further use
	partial int      // methods that the host has accepted and that did not suffice
	banner  string   // last message of the host before the login, quoted

	arranged   bool        // the keys were put in order
	candidates []candidate // keys to offer, without accepted ones
	held       int         // number of keys above the limit for a host
	asked      []candidate // keys that were offered
	remarks    []string    // why keys are missing among them
	signed     string      // id of the key that was used last

	passwordUsed bool   // the host has seen the password
	askedAgain   bool   // the host prompted again after the password
	otherPrompts int    // prompts of the host that are not for a password alone
	prompt       string // the first of them, quoted
	rounds       int    // messages of the host without a prompt
}

// Login is another attempt. signing is called for each signature, which a person may
// have to confirm, and calls sign.
func (c *Credentials) Login(signing func(sign func())) *Login {
	return &Login{Credentials: c, signing: signing}
}

// Next returns the next method to try, in the order of the target's methods; nil means that none is left. A failed
// method is not tried again, unless the host requires a second one (RFC 4252, 5.1: partial success).
func (l *Login) Next(ctx context.Context, a *ssh.ClientAuthContext) ssh.AuthMethod {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allowed = a.AllowedMethods
	if len(a.PartialSuccessMethods) > l.partial {
		l.partial = len(a.PartialSuccessMethods)
		l.accepted(a.PartialSuccessMethods[l.partial-1])
	}
	methods := l.target.Methods
	if methods == nil {
		methods = defaultMethods
	}
	for _, m := range methods {
		if !slices.Contains(a.AllowedMethods, m) || slices.Contains(l.tried, m) {
			continue
		}
		l.tried = append(l.tried, m)
		switch m {
		case methodPublicKey:
			return ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return l.signers(ctx), nil })
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

// accepted records that the host accepts a method and requires another one. That may be a second key, but never the
// same one.
func (l *Login) accepted(method string) {
	if method == methodPublicKey {
		l.candidates = slices.DeleteFunc(l.candidates, func(c candidate) bool { return c.id() == l.signed })
		l.tried = slices.DeleteFunc(l.tried, func(m string) bool { return m == methodPublicKey })
	}
}

// maxBanner bounds the messages of a host before the login, in bytes.
const maxBanner = 64 << 10

// Banner keeps the begin of the host's last message before the login (RFC 4252, 5.4): the first one is for every user,
// the last one has the reason of a refusal.
func (l *Login) Banner(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(text) > maxBanner {
		return fmt.Errorf("its banner is longer than %d KiB", maxBanner>>10)
	}
	if text = strings.TrimSpace(text); text != "" {
		l.banner = transport.QuoteExcerpt(text)
	}
	return nil
}

// Done keeps the key of a successful login: it is the first candidate for the next host.
func (l *Login) Done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signed != "" {
		l.keyring.last.set(l.target.User, l.signed)
	}
}

// Fail explains a login that the host ended.
func (l *Login) Fail(err error) *transport.HostError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if transport.IsHangUp(err) {
		return l.target.Fail(transport.OpAuthenticate, transport.HangUpCause(err), l.said())
	}
	if err = transport.WithoutHandshake(err); l.isExpiry(err) {
		hint := fmt.Sprintf("the password of %s has expired: change it with %s", l.target.User, l.target.SSHCommand())
		return l.target.Fail(transport.OpAuthenticate, fmt.Errorf("%w: the host wants a new password", transport.ErrAuth), hint)
	}
	err = fmt.Errorf("%w: %w", transport.ErrAuth, err)
	return l.target.Fail(transport.OpAuthenticate, err, l.hint())
}

// hint lists the methods that failed, and how to repair each.
func (l *Login) hint() string {
	t := l.target
	var parts []string
	switch {
	case len(l.asked) > 0:
		parts = append(parts, l.askedHint())
	case l.allowed != nil && !slices.Contains(l.allowed, methodPublicKey):
		if l.wantsPassword() {
			break
		}
		parts = append(parts, fmt.Sprintf("the host takes no keys from %s, only %s", t.User, strings.Join(l.allowed, ", ")))
	case t.Password == nil && l.uses(methodPublicKey):
		parts = append(parts, "no key to offer as "+t.User+`; name one with "private_key" or add one to the agent`)
	}
	parts = append(parts, l.passwordHints()...)
	if t.Methods != nil {
		parts = append(parts, "nothing but "+strings.Join(t.Methods, ", ")+" may be tried")
	}
	if said := l.said(); said != "" {
		parts = append(parts, said)
	}
	return strings.Join(append(parts, l.remarks...), "; ")
}

// askedHint names the keys that were offered to the host.
func (l *Login) askedHint() string {
	names := make([]string, len(l.asked))
	for i, c := range l.asked {
		names[i] = c.name
	}
	next := "check authorized_keys of this user on the host"
	if more := len(l.candidates) - len(l.asked) + l.held; more > 0 && l.partial == 0 {
		next = fmt.Sprintf("%d more were not offered, since a host allows only so many (sshd_config: MaxAuthTries): "+
			`name the right key with "private_key", or with IdentityFile and IdentitiesOnly in ssh_config`, more)
	}
	return fmt.Sprintf("ccm-push offered these keys for the user %s: %s; %s", l.target.User, strings.Join(names, ", "), next)
}

// said returns the last message of the host before the login, or "".
func (l *Login) said() string {
	if l.banner == "" {
		return ""
	}
	return "the host said " + l.banner
}

// uses reports whether a method may be tried.
func (c *Credentials) uses(method string) bool { return uses(c.target, method) }

func uses(t transport.Target, method string) bool {
	return t.Methods == nil || slices.Contains(t.Methods, method)
}
