package auth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/auth"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// strangePassword would do harm wherever it is taken for anything but bytes.
const strangePassword = "{{7*7}}$(id)\"'\\ \xff%s"

func secret(text string) *transport.Secret { return transport.NewSecret([]byte(text)) }

// A passwordServer prompts for passwords and counts the passwords that it receives.
type passwordServer struct {
	told atomic.Int64 // passwords it has seen
}

// password makes a server take a password, by that method only.
func (p *passwordServer) password(c *ssh.ServerConfig) {
	c.PublicKeyCallback = nil
	c.PasswordCallback = func(_ ssh.ConnMetadata, b []byte) (*ssh.Permissions, error) { return nil, p.judge(string(b)) }
}

func (p *passwordServer) judge(text string) error {
	p.told.Add(1)
	if text != strangePassword {
		return errors.New("wrong")
	}
	return nil
}

// keyboard makes a server prompt by keyboard-interactive.
func (p *passwordServer) keyboard(ask func(ssh.KeyboardInteractiveChallenge) error) func(*ssh.ServerConfig) {
	return func(c *ssh.ServerConfig) {
		c.PublicKeyCallback = nil
		c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, challenge ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			return nil, ask(challenge)
		}
	}
}

// ask sends one prompt and reads the answer.
func (p *passwordServer) ask(challenge ssh.KeyboardInteractiveChallenge, prompt string) error {
	answers, err := challenge("", "", []string{prompt}, []bool{false})
	if err != nil {
		return err
	}
	return p.judge(answers[0])
}

func TestPasswords(t *testing.T) {
	const refused = "web1: authenticate ADDR: authentication refused: "
	const attempted = "ssh: unable to authenticate, attempted methods [none %s], no supported methods remain\n  hint: "
	keyboard := fmt.Sprintf(refused+attempted, "keyboard-interactive")
	many := make([]string, 1000)
	for _, test := range []struct {
		name     string
		server   func(p *passwordServer) func(*ssh.ServerConfig)
		password string // "" for the right one, "-" for none
		methods  []string
		told     int64
		err      string
	}{
		{name: "password", told: 1, server: func(p *passwordServer) func(*ssh.ServerConfig) { return p.password }},
		{name: "wrong password", password: "x", told: 1, server: func(p *passwordServer) func(*ssh.ServerConfig) { return p.password },
			err: fmt.Sprintf(refused+attempted, "password") + "the password of deploy is wrong, or the host does not accept it for logins"},
		{name: "no password", password: "-", server: func(p *passwordServer) func(*ssh.ServerConfig) { return p.password },
			err: strings.Replace(fmt.Sprintf(refused+attempted, ""), "[none ]", "[none]", 1) + "the host accepts a password; to enter it, pass -k"},
		{name: "password is not to be used", methods: []string{"publickey"}, server: func(p *passwordServer) func(*ssh.ServerConfig) { return p.password },
			err: strings.Replace(fmt.Sprintf(refused+attempted, ""), "[none ]", "[none]", 1) + "nothing but publickey may be tried"},
		{name: "keyboard-interactive", told: 1, server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error { return p.ask(c, "Password: ") })
		}},
		{name: "keyboard-interactive with words around it", told: 1, server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error {
				_, before := c("welcome", "to \x1b[2J", nil, nil)
				err := p.ask(c, "Password: ")
				_, after := c("", "it was changed long ago", nil, nil)
				return errors.Join(before, err, after)
			})
		}},
		{name: "wrong by keyboard, told once", password: "x", told: 1, server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return func(c *ssh.ServerConfig) {
				p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error { return p.ask(c, "Password: ") })(c)
				c.PasswordCallback = func(_ ssh.ConnMetadata, b []byte) (*ssh.Permissions, error) { return nil, p.judge(string(b)) }
			}
		}, err: refused + "the host requested the password again\n  hint: the password of deploy is wrong, or the host does not accept it for logins"},
		{name: "asks again", password: "x", told: 1, server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error {
				p.ask(c, "Password: ")
				return p.ask(c, "Password: ")
			})
		}, err: refused + "the host requested the password again\n" +
			"  hint: the host prompted again (\"Password:\") after the password: the password is wrong, or the host needs a second one"},
		{name: "asks for two things", server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error {
				_, err := c("", "", []string{"Password: ", "Code: "}, []bool{false, false})
				return errors.Join(err, errors.New("no"))
			})
		}, err: refused + "the host requests something other than a password\n  hint: it requests more than a password: \"Password:\""},
		{name: "shows what is typed", server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error {
				_, err := c("", "", []string{"\x1b]0;name\a\u202eName: "}, []bool{true})
				return errors.Join(err, errors.New("no"))
			})
		}, err: refused + "the host requests something other than a password\n  hint: it requests more than a password: \"\\x1b]0;name\\a\\u202eName:\""},
		{name: "asks a thousand things", server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error {
				_, err := c(strings.Repeat("n", 40_000), strings.Repeat("i", 40_000), many, make([]bool, len(many)))
				return errors.Join(err, errors.New("no"))
			})
		}, err: refused + "the host requests something other than a password\n  hint: it requests more than a password: \"\""},
		{name: "talks for ever", server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error {
				for {
					if _, err := c("", "more", nil, nil); err != nil {
						return err
					}
				}
			})
		}, err: refused + "the host requests something other than a password\n  hint: the host requested no password"},
		{name: "has a prompt without end", password: "x", told: 1, server: func(p *passwordServer) func(*ssh.ServerConfig) {
			return p.keyboard(func(c ssh.KeyboardInteractiveChallenge) error { return p.ask(c, strings.Repeat("P", 100_000)) })
		}, err: keyboard + "the password of deploy is wrong, or the host does not accept it for logins"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &passwordServer{}
			srv := sshtest.Start(t, sshtest.Auth(test.server(p)))
			target := targetOf(srv)
			target.PrivateKeys, target.Methods = nil, test.methods
			switch test.password {
			case "":
				target.Password = secret(strangePassword)
			case "-":
			default:
				target.Password = secret(test.password)
			}
			err := dialOnce(t, &dial.Dialer{}, target)
			require.Equal(t, test.err, masked(err, srv.Addr, "ADDR"))
			require.Equal(t, test.told, p.told.Load())
			if err != nil {
				require.ErrorIs(t, err, transport.ErrAuth)
			}
		})
	}
}

// TestSeveralMethods has hosts that want more than one proof (sshd_config,
// AuthenticationMethods).
func TestSeveralMethods(t *testing.T) {
	p := &passwordServer{}
	password := ssh.ServerAuthCallbacks{PasswordCallback: func(_ ssh.ConnMetadata, b []byte) (*ssh.Permissions, error) { return nil, p.judge(string(b)) }}
	keyboard := ssh.ServerAuthCallbacks{KeyboardInteractiveCallback: func(_ ssh.ConnMetadata, c ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
		return nil, p.ask(c, "Password: ")
	}}
	dir := t.TempDir()
	first, second := newSignerFile(t, dir+"/first"), newSignerFile(t, dir+"/second")
	accept := func(key ssh.PublicKey, next *ssh.ServerAuthCallbacks) func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
		return func(_ ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
			switch {
			case !bytes.Equal(k.Marshal(), key.Marshal()):
				return nil, errors.New("another key")
			case next != nil:
				return nil, &ssh.PartialSuccessError{Next: *next}
			}
			return nil, nil
		}
	}
	thenSecond := ssh.ServerAuthCallbacks{PublicKeyCallback: accept(second, nil)}
	for _, test := range []struct {
		name   string
		change func(*ssh.ServerConfig)
	}{
		{"key and password", func(c *ssh.ServerConfig) { c.PublicKeyCallback = accept(first, &password) }},
		{"key and keyboard-interactive", func(c *ssh.ServerConfig) { c.PublicKeyCallback = accept(first, &keyboard) }},
		{"two keys", func(c *ssh.ServerConfig) { c.PublicKeyCallback = accept(first, &thenSecond) }},
		{"two keys, the last one first", func(c *ssh.ServerConfig) {
			c.PublicKeyCallback = accept(second, &ssh.ServerAuthCallbacks{PublicKeyCallback: accept(first, nil)})
		}},
		{"password and key", func(c *ssh.ServerConfig) {
			c.PublicKeyCallback = nil
			c.PasswordCallback = func(_ ssh.ConnMetadata, b []byte) (*ssh.Permissions, error) {
				if err := p.judge(string(b)); err != nil {
					return nil, err
				}
				return nil, &ssh.PartialSuccessError{Next: thenSecond}
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := sshtest.Start(t, sshtest.Auth(test.change))
			target := targetOf(srv)
			target.PrivateKeys = []string{dir + "/first", dir + "/second"}
			target.Password = secret(strangePassword)
			require.NoError(t, dialOnce(t, &dial.Dialer{}, target))
		})
	}
}

// TestBannerOfAHostIsQuoted has a host explain itself before the login.
func TestBannerOfAHostIsQuoted(t *testing.T) {
	for _, test := range []struct{ name, banner, hint string }{
		{"words", "  log in as \x1b[1mubuntu\n", `; the host said "log in as \x1b[1mubuntu"`},
		{"none", "\n", ""},
		{"long", strings.Repeat("b", 60<<10) + " no", `; the host said "` + strings.Repeat("b", transport.MaxQuoted/2) + "[… 61243 bytes left out …]" + strings.Repeat("b", transport.MaxQuoted/2-3) + ` no"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := sshtest.Start(t, sshtest.RejectAuth(), sshtest.Auth(func(c *ssh.ServerConfig) {
				c.BannerCallback = func(ssh.ConnMetadata) string { return test.banner }
			}))
			err := dialOnce(t, &dial.Dialer{}, targetOf(srv))
			require.ErrorIs(t, err, transport.ErrAuth)
			require.Equal(t, "ccm-push offered these keys for the user deploy: id_ed25519; check authorized_keys of this user on the host"+test.hint, err.(*transport.HostError).Hint)
		})
	}
	t.Run("more than one, the last of which says why", func(t *testing.T) {
		srv := sshtest.Start(t, sshtest.Auth(func(c *ssh.ServerConfig) {
			c.BannerCallback = func(ssh.ConnMetadata) string { return "for members only\n" }
			c.PublicKeyCallback = func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
				return nil, &ssh.BannerError{Err: errors.New("no"), Message: "down for maintenance\n"}
			}
		}))
		err := dialOnce(t, &dial.Dialer{}, targetOf(srv))
		require.Equal(t, `ccm-push offered these keys for the user deploy: id_ed25519; check authorized_keys of this user on the host; the host said "down for maintenance"`, err.(*transport.HostError).Hint)
	})
	t.Run("before it closes the connection", func(t *testing.T) {
		var conn atomic.Pointer[net.TCPConn]
		srv := sshtest.Start(t, sshtest.Auth(func(c *ssh.ServerConfig) {
			c.BannerCallback = func(ssh.ConnMetadata) string { return "System is going down.\x1b[2J\n" }
			c.PublicKeyCallback = func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
				_ = conn.Load().Close()
				return nil, errors.New("no")
			}
		}))
		d := &dial.Dialer{Retries: -1, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err == nil {
				conn.Store(c.(*net.TCPConn))
			}
			return c, err
		}}
		err := dialOnce(t, d, targetOf(srv))
		require.EqualError(t, err, "web1: authenticate "+srv.Addr+`: the host closed the connection`+"\n"+`  hint: the host said "System is going down.\x1b[2J"`)
	})
	t.Run("without end", func(t *testing.T) {
		srv := sshtest.Start(t, sshtest.Auth(func(c *ssh.ServerConfig) {
			c.BannerCallback = func(ssh.ConnMetadata) string { return strings.Repeat("b", auth.MaxBanner+1) }
		}))
		err := dialOnce(t, &dial.Dialer{}, targetOf(srv))
		require.ErrorContains(t, err, "its banner is longer than 64 KiB")
	})
}

// TestExpiredPassword has a host that answers a password with a request for a new one,
// SSH_MSG_USERAUTH_PASSWD_CHANGEREQ. It has the number of a question by keyboard.
func TestExpiredPassword(t *testing.T) {
	var request ssh.KeyboardInteractiveChallenge
	srv := sshtest.Start(t, sshtest.Auth(func(c *ssh.ServerConfig) {
		c.PublicKeyCallback = nil
		c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, challenge ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			request = challenge
			return nil, errors.New("not so")
		}
		c.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
			_, err := request("Your password has expired", "", []string{"New password: "}, []bool{false})
			return nil, errors.Join(err, errors.New("expired"))
		}
	}))
	target := targetOf(srv)
	target.Password = secret(strangePassword)
	err := dialOnce(t, &dial.Dialer{}, target)
	require.Equal(t, "web1: authenticate ADDR: authentication refused: the host wants a new password\n"+
		"  hint: the password of deploy has expired: change it with ssh -p PORT deploy@127.0.0.1", masked(err, srv.Addr, "ADDR", fmt.Sprint(srv.Port), "PORT"))
	require.ErrorIs(t, err, transport.ErrAuth)
}
