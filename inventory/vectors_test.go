package inventory

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixture is an inventory with nested groups, overlapping groups, ranges and an
// empty group.
const fixture = `all:
  vars:
    v: all
    only_all: yes
  hosts:
    lonely01:
    bastion.example.com:
      ansible_host: 192.0.2.10
      ansible_port: 2222
  children:
    web:
      hosts:
        web[01:04]:
      vars:
        v: web
        http_port: 80
    db:
      hosts:
        db-[a:c]:
        db-a:
          v: host_db_a
      vars:
        v: db
    prod:
      children:
        web:
        db:
      vars:
        v: prod
        env: prod
    dc1:
      hosts:
        web01:
        web02:
        db-a:
      vars:
        v: dc1
        dc: one
    dc2:
      hosts:
        web03:
        web04:
        db-b:
        db-c:
      vars:
        v: dc2
        dc: two
    canary:
      hosts:
        web01:
        db-c:
    webby_empty:
    stage:
      hosts:
        stage-web[1:3].example.com:
`

const (
	fixtureAll    = "lonely01 bastion.example.com web01 web02 web03 web04 db-a db-b db-c " + fixtureStages
	fixtureStages = "stage-web1.example.com stage-web2.example.com stage-web3.example.com"
)

func load(t testing.TB, text string) *Inventory {
	t.Helper()
	inv, err := Parse("hosts.yml", []byte(text))
	require.NoError(t, err)
	return inv
}

func namesOf(hosts []*Host) string {
	list := make([]string, len(hosts))
	for i, h := range hosts {
		list[i] = h.Name
	}
	return strings.Join(list, " ")
}

// patternVectors are patterns over the fixture. Unless a comment states otherwise, the hosts and their order are the
// result of ansible-core 2.14.18.
var patternVectors = []struct {
	pattern  string
	want     string
	warnings string // joined by newlines
}{
	// Names, groups, order.
	{"all", fixtureAll, ""},
	{"ungrouped", "lonely01 bastion.example.com", ""},
	{"web01", "web01", ""},
	{"db", "db-a db-b db-c", ""},
	{"canary:web", "web01 db-c web02 web03 web04", ""},
	{"canary,all", "web01 db-c lonely01 bastion.example.com web02 web03 web04 db-a db-b " + fixtureStages, ""},
	{"web01,web01", "web01", ""},
	{"nosuch,web01", "web01", `"nosuch" matches no host or group`},
	{"canery,web01", "web01", `"canery" matches no host or group; did you mean "canary"?`},
	{"web01 web02", "web01 web02", ""},

	// Globs.
	{"web0?", "web01 web02 web03 web04", ""},
	{"dc?", "web01 web02 db-a web03 web04 db-b db-c", ""},
	{"*.example.com", "bastion.example.com " + fixtureStages, ""},
	{"al*", fixtureAll, ""},
	{"ungr*", "lonely01 bastion.example.com", ""},
	{"db-[!a]", "db-b db-c", ""},
	{"web0[!12]", "web03 web04", ""},
	{"WEB*,db-a", "db-a", `"WEB*" matches no host or group; did you mean "web"?`},
	{"web*[1-2]", "web01 web02", `"web*[1-2]": [1-2] is a set of characters here; write [1:2] for an index`}, // ours

	// Union, intersection, exclusion.
	{"web:db", "web01 web02 web03 web04 db-a db-b db-c", ""},
	{"web , db", "web01 web02 web03 web04 db-a db-b db-c", ""},
	{"web:&dc1", "web01 web02", ""},
	{"web:&canary", "web01", ""},
	{"prod,!web01", "web02 web03 web04 db-a db-b db-c", ""},
	{"&dc1", "web01 web02 db-a", ""},
	{"!web,prod", "db-a db-b db-c", ""},
	{"prod:!canary:&dc1", "web02 db-a", ""},
	{"web,dc1,!canary,!db-b", "web02 web03 web04 db-a", ""},
	{"all:&ungrouped", "lonely01 bastion.example.com", ""},
	{"all:&all", fixtureAll, ""},
	{"all,", fixtureAll, ""},
	{" web01 ", "web01", ""},

	// Regexes.
	{"~web0[13]", "web01 web03", ""},
	{"~(web|db)", "web01 web02 web03 web04 db-a db-b db-c", ""},
	{"~^db", "db-a db-b db-c", ""},
	{"~web01$|db-a$", "web01 db-a", ""},
	{"~web:db", "web01 web02 web03 web04 db-a db-b db-c", ""},
	{"&~web0[12]", "web01 web02", ""},
	{"all:!~web.*", "lonely01 bastion.example.com db-a db-b db-c " + fixtureStages, ""},
	{"prod:&~web|db-a", "web01 web02 web03 web04 db-a", ""},

	// Subscripts.
	{"web[0]", "web01", ""},
	{"web[-2]", "web03", ""},
	{"web[1:2]", "web02 web03", ""},
	{"web[2:]", "web03 web04", ""},
	{"web[1:99]", "web02 web03 web04", ""},
	{"web[0:0]", "web01", ""},
	{"prod[0:3]", "web01 web02 web03 web04", ""},
	{"all[0]", "lonely01", ""},
	{"all[2:4]", "web01 web02 web03", ""},
	{"dc?[0:5]", "web01 web02 db-a web03 web04 db-b", ""},
	{"web*[-1]", "web04", ""},
	{"ungrouped[0]", "lonely01", ""},
	{"web[0],web[1]", "web01 web02", ""},
	{"canary[0],dc2[0]", "web01 web03", ""},
	{"web:!web[0]", "web02 web03 web04", ""},
	{"&web[0:1]", "web01 web02", ""},
	{"web[:2]", "web01 web02 web03", ""}, // Ansible matches nothing

	// Ranges and node sets.
	{"stage-web[1:2].example.com", "stage-web1.example.com stage-web2.example.com", ""},
	{"stage-web[1:3].example.com[-1]", "stage-web3.example.com", ""},
	{"db-[a:b]", "db-a db-b", ""},
	{"web0[1-3]", "web01 web02 web03", ""},        // Ansible matches nothing, with a warning
	{"web[01-03]", "web01 web02 web03", ""},       // ours
	{"web[01,03-04]", "web01 web03 web04", ""},    // ours
	{"web[01-04/2],db-a", "web01 web03 db-a", ""}, // ours
	{"web[03-06]", "web03 web04", `"web[03-06]": 2 of 4 names are not in the inventory, the first is web05`},
	{"bastion.example.com,db-[a-c],lonely01,stage-web[1-3].example.com,web[01-04]",
		"bastion.example.com db-a db-b db-c lonely01 " + fixtureStages + " web01 web02 web03 web04", ""},
}

func TestSelect(t *testing.T) {
	inv := load(t, fixture)
	for _, tt := range patternVectors {
		t.Run(tt.pattern, func(t *testing.T) {
			hosts, warnings, err := inv.Select(tt.pattern)
			require.NoError(t, err)
			require.Equal(t, tt.want, namesOf(hosts))
			require.Equal(t, tt.warnings, strings.Join(warnings, "\n"))
		})
	}
}

// patternErrors are patterns over the fixture that are refused or select
// nothing.
var patternErrors = []struct {
	pattern string
	want    string
	nothing bool
}{
	{"nosuch", `pattern "nosuch": selects no host: "nosuch" matches no host or group`, true},
	{"webby_empty", `pattern "webby_empty": selects no host`, true},
	{"!all", `pattern "!all": selects no host`, true},
	{"web01.example.com", `pattern "web01.example.com": selects no host: "web01.example.com" matches no host or group`, true},
	{"bastion.example.com:2222", `pattern "bastion.example.com:2222": selects no host: "bastion.example.com:2222" matches no host or group
  hint: remove the port: it belongs in the inventory`, true},
	{"~example", `pattern "~example": selects no host: "~example" matches no host or group
  hint: a regex is matched from the start of the name: write ~.*example to find it anywhere`, true},
	{"web[1-2]", `pattern "web[1-2]": selects no host: "web[1-2]" matches no host or group
  hint: by index it would be web[1:2]`, true},
	{"localhost", `pattern "localhost": selects no host: "localhost" matches no host or group
  hint: this machine is only known if the inventory lists it, or with --allow-implicit-localhost`, true},
	{"::1", `pattern "::1": selects no host: "::1" matches no host or group
  hint: this machine is only known if the inventory lists it, or with --allow-implicit-localhost`, true},

	{"web[9]", `pattern "web[9]": the index is past the end
  hint: the pattern matches 4 hosts: use an index from 0 to 3`, false},
	{"web[9],db", `pattern "web[9],db": web[9]: the index is past the end
  hint: the pattern matches 4 hosts: use an index from 0 to 3`, false},
	{"web*[4]", `pattern "web*[4]": the index is past the end
  hint: the pattern matches 4 hosts: use an index from 0 to 3`, false},
	{"web[-5]", `pattern "web[-5]": the index is past the end
  hint: the pattern matches 4 hosts: use an index from 0 to 3`, false},
	{"web01[99999999999999999999]", `pattern "web01[99999999999999999999]": the index is past the end
  hint: the pattern matches 1 host: use index 0`, false},
	{"web[3:1]", `pattern "web[3:1]": the slice ends before it begins`, false},
	{"web[0:-1]", `pattern "web[0:-1]": a slice [a:b] takes no negative numbers
  hint: write web[-1] for the last host, [x:] for all from x on`, false},
	{"web[:]", `pattern "web[:]": the slice has no ends
  hint: write web for all of it`, false},
	{"web[1", `pattern "web[1": the bracket [ has no closing ]`, false},
	{"web*[a:c]", `pattern "web*[a:c]": a range such as [1:3] and a wildcard cannot be in one term
  hint: write one term for each`, false},
	{"db-[c:a]", `pattern "db-[c:a]": [c:a]: c comes after a
  hint: write a range as [begin:end] or [begin:end:step], such as web[01:20]`, false},
	{"web[1-03]", `pattern "web[1-03]": [1-03]: 1 and 03 differ in width
  hint: write leading zeros at both ends or at none`, false},
	{"web[3-1]", `pattern "web[3-1]": [3-1]: 3 is greater than 1
  hint: a node set is written [1-3,7], or [1-9/2] with a step`, false},
	{"web[1-9999999999]", `pattern "web[1-9999999999]": more than 1000000 names`, false},
	{"web*[z-a]", "pattern \"web*[z-a]\": not a glob: invalid character class range: `z-a`", false},
	{"~(web:db)", `pattern "~(web:db)": ~(web: not a regex: missing closing ): ` + "`(web`" + `
  hint: colons and commas outside brackets end a term; look-around and back-references do not exist`, false},
	{"~a)|(b", "pattern \"~a)|(b\": not a regex: unexpected ): `a)|(b`\n  hint: colons and commas outside brackets end a term; look-around and back-references do not exist", false},
	{"web,!", `pattern "web,!": nothing follows !
  hint: write ! and the name without a blank between them`, false},
	{"@last:failed", "pattern \"@last:failed\": @last:failed: hosts of a recorded run can only limit a pattern\n  hint: write: all --limit @last:failed", false},
	{"web,&fact:os.family=debian", `pattern "web,&fact:os.family=debian": fact: is not supported yet`, false},
}

func TestSelectErrors(t *testing.T) {
	inv := load(t, fixture)
	for _, tt := range patternErrors {
		t.Run(tt.pattern, func(t *testing.T) {
			hosts, _, err := inv.Select(tt.pattern)
			require.Empty(t, hosts)
			require.EqualError(t, err, tt.want)
			require.Equal(t, tt.nothing, errors.Is(err, ErrNothing))
		})
	}
}

// TestEmptyPattern checks a difference from Ansible, where "" means all: an unset variable makes an empty pattern.
func TestEmptyPattern(t *testing.T) {
	inv := load(t, fixture)
	for _, pattern := range []string{"", " ", ",", ":"} {
		_, _, err := inv.Select(pattern)
		require.EqualError(t, err, fmt.Sprintf("pattern %q: the pattern is empty\n  hint: write all for every host", pattern))
		require.ErrorIs(t, err, ErrNothing)
		_, _, err = inv.Limit(inv.Hosts(), pattern)
		require.ErrorIs(t, err, ErrNothing)
	}
}
