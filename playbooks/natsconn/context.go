package natsconn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
)

// savedContext is a context of the nats command line: NAME.json in its folder (ADR-21 of NATS).
type savedContext struct {
	file string

	URL         string `json:"url"`
	Token       string `json:"token"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	NSC         string `json:"nsc"`
	Domain      string `json:"jetstream_domain"`
	APIPrefix   string `json:"jetstream_api_prefix"`
	InboxPrefix string `json:"inbox_prefix"`
	UserJWT     string `json:"user_jwt"`
	UserSeed    string `json:"user_seed"`
	TLSFirst    bool   `json:"tls_first"`
	SocksProxy  string `json:"socks_proxy"`
}

// context reads the context; without a name it is empty.
func (c Config) context() (*savedContext, error) {
	saved := &savedContext{}
	if c.Context == "" {
		return saved, nil
	}
	if strings.ContainsAny(c.Context, `/\`) || strings.Contains(c.Context, "..") {
		return nil, fmt.Errorf("context %q of NATS: write the name of a context, as nats context ls lists them", c.Context)
	}
	saved.file = filepath.Join(c.Contexts, c.Context+".json")
	data, err := os.ReadFile(saved.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("unknown NATS context %q in %s: add it with nats context add, or pass --nats URL", c.Context, c.Contexts)
	}
	if err != nil {
		return nil, fmt.Errorf("context of NATS: %w", err)
	}
	if err := json.Unmarshal(data, saved); err != nil {
		return nil, fmt.Errorf("%s: %w", saved.file, err)
	}
	for _, other := range []struct{ key, value string }{{"nsc", saved.NSC}, {"socks_proxy", saved.SocksProxy}} {
		if other.value != "" {
			return nil, fmt.Errorf("%s: %s is not supported: write creds, or another way to the server", saved.file, other.key)
		}
	}
	home, _ := os.UserHomeDir() // without one, ~ stays
	for _, path := range []*string{&saved.Creds, &saved.NKey, &saved.Cert, &saved.Key, &saved.CA} {
		if rest, ok := strings.CutPrefix(*path, "~/"); ok && home != "" {
			*path = filepath.Join(home, rest)
		}
	}
	return saved, nil
}

func (s *savedContext) options() []nats.Option {
	if s.InboxPrefix == "" {
		return nil
	}
	return []nats.Option{nats.CustomInboxPrefix(s.InboxPrefix)}
}
