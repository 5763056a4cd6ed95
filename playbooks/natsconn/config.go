package natsconn

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// A Config has the addresses of NATS servers, and the login. Its context sets the fields that are empty.
type Config struct {
	Servers   string // URLs separated by commas, nats:// or tls://; empty means the context's servers
	Context   string // name of a context of the nats command line; empty means none
	Creds     string // file with the credentials of a user: a JWT and its seed
	NKey      string // file with the seed of a user
	CA        string // PEM file of the authorities to trust in place of the system's
	Cert, Key string // PEM files of the client's certificate and its key

	Name     string       // name of the connection in the server's list
	Contexts string       // the folder that contexts are files of
	Warn     func(string) // receives warnings; nil drops them
	// Outage receives a text each time that the connection is lost or back; with nil, Warn receives it.
	Outage func(string)
}

// options returns the options for nats.go. It finds all faults of files, so that they are not reported as a refusal by
// the server.
func (c Config) options(ctx *savedContext) (servers []string, opts []nats.Option, err error) {
	servers, err = parseServers(cmp.Or(c.Servers, ctx.URL))
	if err != nil {
		if c.Servers == "" && c.Context != "" {
			err = fmt.Errorf("%s: %w", ctx.file, err)
		}
		return nil, nil, err
	}
	opts = append(opts, ctx.options()...)

	login, secret, err := c.login(ctx)
	if err != nil {
		return nil, nil, err
	}
	tls, err := c.tls(ctx)
	if err != nil {
		return nil, nil, err
	}
	opts = append(append(opts, login...), tls...)
	secret = secret || slices.ContainsFunc(servers, hasPassword)
	if secret && slices.ContainsFunc(servers, func(s string) bool { return !isLoopback(hostOf(s)) }) {
		// Without TLS the login would be sent unencrypted to any server that requests no encryption.
		opts = append(opts, nats.Secure())
	}
	return servers, opts, nil
}

// login returns the options of the login; secret reports that it sends a secret.
func (c Config) login(ctx *savedContext) (opts []nats.Option, secret bool, err error) {
	if c.Creds != "" && c.NKey != "" {
		return nil, false, errors.New("--nats-creds and --nats-nkey are two ways to log in: give one")
	}
	given := c.Creds != "" || c.NKey != "" // then what the context has for it is not used
	creds, nkey := c.Creds, c.NKey
	if !given {
		creds, nkey = ctx.Creds, ctx.NKey
	}
	switch {
	case creds != "":
		if err := readable(creds); err != nil {
			return nil, false, fmt.Errorf("credentials of NATS: %w", err)
		}
		return []nats.Option{nats.UserCredentials(creds)}, false, nil
	case nkey != "":
		opt, err := nats.NkeyOptionFromSeed(nkey)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w; it has the seed of a user, which begins with SU", nkey, trimmed(err))
		}
		opts = []nats.Option{opt}
		if ctx.InboxPrefix == "" {
			opts = append(opts, ownInbox)
		}
		return opts, false, nil
	case given:
	case ctx.UserJWT != "":
		return []nats.Option{nats.UserJWTAndSeed(ctx.UserJWT, ctx.UserSeed)}, false, nil
	case ctx.Token != "":
		return []nats.Option{nats.Token(ctx.Token)}, true, nil
	case ctx.User != "" && ctx.Password == "": // as the nats command line has it
		return []nats.Option{nats.Token(ctx.User)}, true, nil
	case ctx.User != "":
		return []nats.Option{nats.UserInfo(ctx.User, ctx.Password)}, true, nil
	}
	return nil, false, nil
}

// Inbox returns the subject of answers for a user with an nkey, so that a server can keep others from reading them.
func Inbox(key string) string { return "_INBOX." + key }

// ownInbox has a user be answered there, once it is known who that is.
func ownInbox(o *nats.Options) error { return nats.CustomInboxPrefix(Inbox(o.Nkey))(o) }

func (c Config) tls(ctx *savedContext) (opts []nats.Option, err error) {
	if ca := cmp.Or(c.CA, ctx.CA); ca != "" {
		if err := readable(ca); err != nil {
			return nil, fmt.Errorf("authorities of NATS: %w", err)
		}
		opts = append(opts, nats.RootCAs(ca))
	}
	cert, key := c.Cert, c.Key
	if cert == "" && key == "" {
		cert, key = ctx.Cert, ctx.Key
	}
	switch {
	case cert == "" && key == "":
	case cert == "":
		return nil, fmt.Errorf("the file %s is the key of a certificate, but the certificate is missing; pass --nats-cert FILE", key)
	case key == "":
		return nil, fmt.Errorf("%s is a certificate, but its key is missing; pass --nats-key FILE", cert)
	default:
		for _, file := range []string{cert, key} {
			if err := readable(file); err != nil {
				return nil, fmt.Errorf("certificate for NATS: %w", err)
			}
		}
		opts = append(opts, nats.ClientCert(cert, key))
	}
	if ctx.TLSFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	return opts, nil
}

// parseServers checks URLs, which no error shows: what cannot be parsed may hold a password.
func parseServers(list string) ([]string, error) {
	var servers []string
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if !strings.Contains(text, "://") {
			text = "nats://" + text // as nats.go has it
		}
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			return nil, errors.New("a server of NATS is not a URL: write nats://HOST:4222 or tls://HOST:4222 (ccm-push does not print the value, because it may contain a password)")
		}
		switch u.Scheme {
		case "nats", "tls":
		default:
			return nil, fmt.Errorf("%s is not a supported scheme for NATS: write nats://HOST:4222 or tls://HOST:4222", u.Scheme+"://")
		}
		servers = append(servers, text)
	}
	if len(servers) == 0 {
		return nil, errors.New("no NATS server is given; use --nats tls://HOST:4222 or --nats-context NAME")
	}
	return servers, nil
}

// display returns the servers' addresses for messages.
func display(servers []string) string {
	var shown []string
	for _, s := range servers {
		u, err := url.Parse(s)
		if err != nil {
			continue // it has been parsed before
		}
		u.User = nil
		shown = append(shown, u.String())
	}
	return strings.Join(shown, ", ")
}

func hasPassword(server string) bool {
	u, err := url.Parse(server)
	return err == nil && u.User != nil
}

// hostOf is the host of a URL that has been parsed before.
func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// trimmed is an error of nats.go without what each begins with.
func trimmed(err error) error {
	if text, ok := strings.CutPrefix(err.Error(), "nats: "); ok {
		return &shortened{text, err}
	}
	return err
}

// shortened is an error with another text.
type shortened struct {
	text string
	err  error
}

func (s *shortened) Error() string { return s.text }
func (s *shortened) Unwrap() error { return s.err }
