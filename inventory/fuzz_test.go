package inventory

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// summary returns everything that callers can see of an inventory, except positions.
func summary(inv *Inventory) string {
	var b strings.Builder
	fmt.Fprintln(&b, "order:", namesOf(inv.Hosts()))
	for _, g := range inv.Groups() {
		fmt.Fprintln(&b, g.Name, g.Depth, g.Priority, groupNames(g.Children), namesOf(g.Hosts()))
	}
	for _, h := range inv.hosts {
		c := h.Connection()
		c.Pos, c.Password, c.BecomePassword = nil, "", "" // Encode writes no passwords
		c.Referred = nil
		delete(c.Refused, "password")
		delete(c.Refused, "become_password")
		refused := slices.Sorted(maps.Keys(c.Refused))
		c.Refused = nil
		for i := range c.Options {
			c.Options[i].Pos = ""
		}
		fmt.Fprintf(&b, "%s %s %#v %+v %q\n", h.Name, groupNames(h.Groups), h.Vars(), c, refused)
	}
	return b.String()
}

func groupNames(groups []*Group) (list []string) {
	for _, g := range groups {
		list = append(list, g.Name)
	}
	return list
}

func requireRoundTrip(t *testing.T, inv *Inventory) {
	t.Helper()
	text := inv.Encode()
	again, err := Parse("again.yml", text)
	require.NoError(t, err, "%s", text)
	require.Equal(t, summary(asEncoded(inv)), summary(again))
	require.Equal(t, string(text), string(again.Encode()))
}

// asEncoded returns inv with the one order that Encode changes: hosts of ungrouped in the order in which they are first
// named.
func asEncoded(inv *Inventory) *Inventory {
	rest := inv.Group(ungrouped)
	slices.SortFunc(rest.hosts, func(a, b *Host) int { return a.index - b.index })
	inv.order = inv.Group(allGroup).Hosts()
	return inv
}

func TestEncode(t *testing.T) {
	for name, text := range map[string]string{
		"fixture":           fixture,
		"order of groups":   "b: {children: {y: , x: {children: {z: }}}, hosts: {h2: }}\nx: {hosts: {h1: }}\na: {children: {b: }, hosts: {h3: }}\ny: {children: {z: {hosts: {h9: }}}}",
		"order of the rest": "all: {hosts: {a: , c: }}\nungrouped: {hosts: {d: , b: }}\nx: {hosts: {d: }}",
		"order of hosts":    "ungrouped: {hosts: {b: , a: }}\nall: {hosts: {a: , c: , b: }}",
		"children of rest":  "ungrouped: {children: {x: {hosts: {h: }}}}",
		"values":            `all: {hosts: {h: {s: "a\"\\\n\u2028\u0085\U0001F600é", f: 1e300, w: 5.0, i: -3, n: , b: true, t: 2024-01-02, l: [[], {}, ~], "": 1, big: 99999999999999999999, inf: .inf, nan: .nan}}}`,
		"long key":          "all: {vars: {? " + strings.Repeat("k", 3000) + " : {? " + strings.Repeat("l", 3000) + " : 1}}, hosts: {h: }}",
		"connect":           "all: {connect: {user: 0x10, private_key: [a, 2], become: yes}, hosts: {h: {connect: {port: 22}}, 'i:1': {x: 1}}}",
		"merged":            "a: {vars: {x: 1, y: 1}, hosts: {h: {x: 1, connect: {port: 1}}}}\nb: {hosts: {h: {x: 2, connect: {port: , user: u}}}}",
		"null args":         "all: {vars: {ansible_ssh_common_args: -p 1}, hosts: {h: {ansible_ssh_common_args: \"\"}}}",
		"null priority":     "a: {vars: {ansible_group_priority: }, hosts: {h: }}",
		"no hosts":          "a:",
		"marked":            "all: {hosts: {h: {a: !unsafe '{{ x }}', b: [!vault \"x\\n\", !unsafe 5], connect: {user: !vault y, port: 0}}}}",
		"only what exists":  "all:",
	} {
		t.Run(name, func(t *testing.T) { requireRoundTrip(t, load(t, text)) })
	}
}

func FuzzParse(f *testing.F) {
	f.Add(fixture)
	for _, tt := range rangeVectors {
		f.Add(fmt.Sprintf("web: {hosts: {%q: {v: 1}}}", tt.key))
	}
	for _, tt := range slices.Concat(shapeErrors, connectionErrors) {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := Parse("fuzz.yml", []byte(text))
		if err != nil || inv.size() > 10_000 {
			return
		}
		requireRoundTrip(t, inv)
	})
}

// size returns the approximate size of Encode's output, in entries.
func (inv *Inventory) size() int { return len(inv.hosts) + len(inv.groups) }

// The order of & and ! terms changes nothing.
func TestSelectOrderOfTerms(t *testing.T) {
	inv := load(t, fixture)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		terms := []string{"prod", "&dc1", "!web02", "&all", "!canary"}
		random.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
		hosts, _, err := inv.Select(strings.Join(terms, ":"))
		require.NoError(t, err)
		require.Equal(t, "db-a", namesOf(hosts))
	}
}
