package upgrade

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// A shelf is a package manager whose only package, demo, has its versions in files: the installed one, and the newest.
// Package pkg tests the real managers of this machine.
type shelf struct{ root string }

func (s shelf) read(h modules.Host, name string) string {
	file, err := h.Files.Open(path.Join(s.root, name))
	if err != nil {
		return ""
	}
	defer file.Close()
	var text string
	_, _ = fmt.Fscan(file, &text)
	return text
}

func (s shelf) Plan(_ context.Context, h modules.Host) (modules.Plan, error) {
	have, offered := s.read(h, "demo"), s.read(h, "offers")
	if offered == "" {
		return modules.Plan{}, modules.Refuse("nothing is offered")
	}
	if _, done := h.Forecast.Lookup("upgrade", "all"); done || have == offered {
		return modules.Plan{}, nil
	}
	return modules.Plan{
		Action: "upgraded 1 package", Changes: []modules.Change{{Property: "demo", Have: have, Want: offered}},
		Effects: []modules.Effect{{Kind: "upgrade", Key: "all"}},
	}, nil
}

func (s shelf) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return h.Files.Write(ctx, path.Join(s.root, "demo"), strings.NewReader(p.Changes[0].Want), modules.Attributes{Mode: 0o644, UID: -1, GID: -1})
}

func (s shelf) Sources(modules.Host) modules.Sources {
	return modules.Sources{Paths: []string{path.Join(s.root, "demo"), path.Join(s.root, "offers")}}
}

func (shelf) Manager(modules.Host) (string, error) { return "shelf", nil }

// A local upgrade is one of a shelf.
type local struct {
	Upgrade
	Root string `json:"root"`
}

func localType() modules.Type {
	typ := Type(nil)
	typ.New = func() modules.Resource {
		l := new(local)
		l.by = func(*Upgrade) Manager { return shelf{l.Root} }
		return l
	}
	return typ
}

func TestConverges(t *testing.T) {
	tree := func(have, offered string) []modtest.Node {
		return []modtest.Node{{Path: "demo", Text: have, Mode: 0o644}, {Path: "offers", Text: offered}}
	}
	modtest.Converges(t, localType(),
		modtest.Fixture{
			Name: "something is newer", Kept: "demo", Tree: tree("1.0", "2.0"), Properties: `{"root":"$ROOT","name":"all"}`,
			Action: "upgraded 1 package", Changes: []modules.Change{{Property: "demo", Have: "1.0", Want: "2.0"}},
		},
		modtest.Fixture{Name: "nothing is", Tree: tree("2.0", "2.0"), Properties: `{"root":"$ROOT","name":"all"}`},
		modtest.Fixture{Name: "nobody knows", Tree: tree("2.0", ""), Properties: `{"root":"$ROOT","name":"all"}`, Err: "nothing is offered"},
	)
}

func TestDescribe(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "demo", Text: "1.0"}, {Path: "offers", Text: "2.0"}})
	u := &Upgrade{Name: All, by: func(*Upgrade) Manager { return shelf{root} }}
	h := modtest.Host()
	h.Forecast = nothing{}
	modtest.Describes(t, h, u, `{"ensure":"outdated","pending":[{"property":"demo","have":"1.0","want":"2.0"}]}`)
}

// nothing is a forecast of nothing.
type nothing struct{}

func (nothing) Lookup(modules.EffectKind, string) (any, bool) { return nil, false }

func TestValidate(t *testing.T) {
	for properties, want := range map[string]string{
		`{"name":"security","cache_valid":"1h"}`: "",
		`{"name":"some"}`:                        `name: "some" is not one of "all", "security"`,
		`{"name":"all","lock_timeout":"long"}`:   `lock_timeout: `,
	} {
		_, err := modules.Registry{localType()}.Decode("upgrade", []byte(properties))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
