package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const badHop = "\n  hint: write [user@]host[:port], several of them with commas, outermost first"

var jumpErrors = []struct{ name, text, want string }{
	{"port 0", "all: {connect: {jump: \"gate:0\"}}", "hosts.yml:1:23: jump: port 0 is outside 1-65535"},
	{"port 70000", "all: {connect: {jump: \"a,gate:70000\"}}", "hosts.yml:1:23: jump: port 70000 is outside 1-65535"},
	{"port name", "all: {connect: {jump: \"gate:ssh\"}}", "hosts.yml:1:23: jump: \"gate:ssh\" is no host" + badHop},
	{"no host", "all: {connect: {jump: \"a,,b\"}}", "hosts.yml:1:23: jump: \"\" is no host" + badHop},
	{"no host after the user", "all: {connect: {jump: me@}}", "hosts.yml:1:23: jump: \"\" is no host" + badHop},
	{"no user", "all: {connect: {jump: \"@gate\"}}", "hosts.yml:1:23: jump: \"@gate\" has no user before @" + badHop},
	{"blank", "all: {connect: {jump: a b}}", "hosts.yml:1:23: jump: \"a b\" is no host" + badHop},
	{"option", "all: {connect: {jump: -oProxyCommand=x}}", "hosts.yml:1:23: jump: \"-oProxyCommand=x\" is no host" + badHop},
	{"option as the user", "all: {connect: {jump: -x@gate}}", "hosts.yml:1:23: jump: user \"-x\" has a blank, or - in front"},
	{"shell", "all: {connect: {jump: a;id}}", "hosts.yml:1:23: jump: \"a;id\" is no host" + badHop},
	{"ProxyJump", "all: {vars: {ansible_ssh_common_args: -J gate:0}}", "hosts.yml:1:39: ansible_ssh_common_args: ProxyJump: port 0 is outside 1-65535"},
	{"a group", "web: {hosts: {w: {connect: {jump: dmz}}}}\ndmz: {hosts: {gate: }}",
		"hosts.yml:1:35: jump: \"dmz\" is a group\n  hint: name one host of it"},
	{"itself", "all: {hosts: {w: {connect: {jump: w}}}}",
		"hosts.yml:1:35: jump hosts lead in a circle: w -> w\n  hint: one of them has to be reached directly: write connect: {jump: none} at w"},
	{"itself, from its group", "dmz: {connect: {jump: gate}, hosts: {w1: , w2: , gate: }}",
		"hosts.yml:1:23: jump hosts lead in a circle: gate -> gate\n  hint: one of them has to be reached directly: write connect: {jump: none} at gate"},
	{"each other", "all:\n  hosts:\n    a: {connect: {jump: b}}\n    b: {connect: {jump: \"me@a:23\"}}\n",
		"hosts.yml:3:25: jump hosts lead in a circle: b -> a -> b\n  hint: one of them has to be reached directly: write connect: {jump: none} at b"},
	{"a way of its own", "all:\n  hosts:\n    a: {connect: {jump: b}}\n    b: {connect: {jump: \"x,me@c:23\"}}\n    c:\n",
		"hosts.yml:3:25: jump host b has a jump host of its own\n  hint: write the whole way, outermost first: jump: x,me@c:23,b"},
	{"a way of its own, on the way", "all:\n  hosts:\n    a: {connect: {jump: \"c,me@b\"}}\n    b: {connect: {jump: c}}\n    c:\n",
		"hosts.yml:3:25: jump host b has a jump host of its own\n  hint: write the whole way, outermost first: jump: c,me@b"},
	{"a circle further on", "all:\n  hosts:\n    a: {connect: {jump: b}}\n    b: {connect: {jump: c}}\n    c: {connect: {jump: b}}\n",
		"hosts.yml:3:25: jump hosts lead in a circle: b -> c -> b\n  hint: one of them has to be reached directly: write connect: {jump: none} at b"},
	{"two things", "all:\n  hosts:\n    a: {connect: {jump: b}}\n    b: {connect: {jump: c}}\n    c:\n    d: {connect: {jump: d}}\n",
		"hosts.yml:3:25: jump host b has a jump host of its own\n  hint: write the whole way, outermost first: jump: c,b\n" +
			"hosts.yml:6:25: jump hosts lead in a circle: d -> d\n  hint: one of them has to be reached directly: write connect: {jump: none} at d"},
}

func TestJumpErrors(t *testing.T) {
	for _, tt := range jumpErrors {
		t.Run(tt.name, func(t *testing.T) {
			require.EqualError(t, wrongWith(Parse("hosts.yml", []byte(tt.text))), tt.want)
		})
	}
}

func TestJumpsThatAreGood(t *testing.T) {
	for name, text := range map[string]string{
		"a name that the inventory does not know": "all: {hosts: {w: {connect: {jump: bastion.example}}}}",
		"all but the jump host":                   "all: {connect: {jump: gate}, hosts: {w: , gate: {connect: {jump: none}}}}",
		"all but the jump host, by null":          "all: {connect: {jump: gate}, hosts: {w: , gate: {connect: {jump: }}}}",
		"a whole way":                             "all: {hosts: {w: {connect: {jump: \"x,y\"}}, x: , y: }}",
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, wrongWith(Parse("hosts.yml", []byte(text))))
		})
	}
}
