package auth

import (
	"errors"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/transport"
)

// The methods password and keyboard-interactive.

// maxRounds limits the messages without a prompt (RFC 4256, 3.4) in one keyboard-interactive authentication.
const maxRounds = 10

var (
	errAskedAgain   = errors.New("the host requested the password again")
	errOtherPrompts = errors.New("the host requests something other than a password")
)

func (l *Login) hasPassword() bool { return l.target.Password != nil }

// password implements the password method. The password is sent to a host once, by any method: a few wrong ones may
// lock an account.
func (l *Login) password() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passwordUsed {
		return "", errAskedAgain
	}
	l.passwordUsed = true
	return string(l.target.Password.Reveal()), nil
}

// answer implements keyboard-interactive: the password is the answer to a single
// prompt that hides it, and nothing else is answered. Name, instruction and
// prompts come from the host and are not looked at.
func (l *Login) answer(_, _ string, prompts []string, echo []bool) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(prompts) == 0:
		if l.rounds++; l.rounds > maxRounds {
			return nil, errOtherPrompts
		}
		return nil, nil
	case len(prompts) > 1, echo[0]:
		l.otherPrompts = len(prompts)
		l.prompt = transport.QuoteExcerpt(strings.TrimSpace(prompts[0]))
		return nil, errOtherPrompts
	case l.passwordUsed:
		l.askedAgain = true
		l.prompt = transport.QuoteExcerpt(strings.TrimSpace(prompts[0]))
		return nil, errAskedAgain
	}
	l.passwordUsed = true
	return []string{string(l.target.Password.Reveal())}, nil
}

// passwordChange is the begin of x/crypto's error for SSH_MSG_USERAUTH_PASSWD_CHANGEREQ (RFC 4252, 8), which it cannot
// answer.
const passwordChange = "ssh: unexpected message type 60 "

// isExpiry reports whether the host has answered the password with a request for a
// new one.
func (l *Login) isExpiry(err error) bool {
	return len(l.tried) > 0 && l.tried[len(l.tried)-1] == methodPassword && strings.HasPrefix(err.Error(), passwordChange)
}

// wantsPassword reports whether the host would have taken a password.
func (l *Login) wantsPassword() bool {
	return slices.Contains(l.allowed, methodPassword) || slices.Contains(l.allowed, methodKeyboard)
}

// passwordHints explain why the password was not accepted.
func (l *Login) passwordHints() (parts []string) {
	t := l.target
	switch {
	case l.askedAgain:
		parts = append(parts, "the host prompted again ("+l.prompt+") after the password: the password is wrong, or the host needs a second one")
	case l.passwordUsed:
		parts = append(parts, "the password of "+t.User+" is wrong, or the host does not accept it for logins")
	case t.Password != nil && l.otherPrompts == 0 && l.takesPassword():
		parts = append(parts, "the host requested no password")
	case t.Password == nil && l.wantsPassword() && l.takesPassword():
		parts = append(parts, "the host accepts a password; to enter it, pass -k")
	}
	if l.otherPrompts > 0 {
		parts = append(parts, "it requests more than a password: "+l.prompt)
	}
	return parts
}

// takesPassword reports whether a password may be used.
func (l *Login) takesPassword() bool { return l.uses(methodPassword) || l.uses(methodKeyboard) }
