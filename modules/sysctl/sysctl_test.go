package sysctl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestEdit(t *testing.T) {
	for _, test := range []struct {
		name   string
		sysctl Sysctl
		have   string
		want   string
		action string
	}{
		{"new", Sysctl{Value: "1"}, "# ours\nvm.swappiness = 1\n", "# ours\nvm.swappiness = 1\nnet.ipv4.ip_forward = 1\n", "persisted"},
		{"there", Sysctl{Value: "1"}, "net.ipv4.ip_forward=1", "net.ipv4.ip_forward=1", ""},
		{"there, with slashes", Sysctl{Value: "1"}, "-net/ipv4/ip_forward = 1\n", "-net/ipv4/ip_forward = 1\n", ""},
		{"another value that may be refused", Sysctl{Value: "1"}, "-net.ipv4.ip_forward=0\n", "-net.ipv4.ip_forward = 1\n", "persisted"},
		{"another value", Sysctl{Value: "1"}, "net.ipv4.ip_forward=0\nx=1\n", "net.ipv4.ip_forward = 1\nx=1\n", "persisted"},
		{"several, of which the last counts", Sysctl{Value: "1"}, "net.ipv4.ip_forward=1\nx=1\nnet.ipv4.ip_forward=0\n", "net.ipv4.ip_forward=1\nx=1\n", "persisted"},
		{"numbers", Sysctl{Name: "net.ipv4.ip_local_port_range", Value: "1024  65000"}, "net.ipv4.ip_local_port_range = 1024\t65000\n", "net.ipv4.ip_local_port_range = 1024\t65000\n", ""},
		{"commented out", Sysctl{Value: "1"}, "#net.ipv4.ip_forward=1\n", "#net.ipv4.ip_forward=1\nnet.ipv4.ip_forward = 1\n", "persisted"},
		{"absent", Sysctl{Ensure: absent}, "net.ipv4.ip_forward=1\nx=1\nnet/ipv4/ip_forward=0\n", "x=1\n", "persisted"},
		{"absent, and not there", Sysctl{Ensure: absent}, "x=1\n", "x=1\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.sysctl
			if s.Name == "" {
				s.Name = "net.ipv4.ip_forward"
			}
			require.NoError(t, s.Validate())
			text := edit.Parse(test.have)
			done, err := s.edit(text)
			require.NoError(t, err)
			require.Equal(t, test.want, text.String())
			require.Equal(t, test.action, done.Action)
			done, err = s.edit(text)
			require.NoError(t, err)
			require.Equal(t, edit.Done{}, done)
		})
	}
}

func TestKey(t *testing.T) {
	for name, want := range map[string]string{
		"vm.swappiness": "vm/swappiness", "vm/swappiness": "vm/swappiness", "kernel": "kernel",
		"net.ipv4.conf.eth0/1.forwarding": "net/ipv4/conf/eth0.1/forwarding", "net/ipv4/conf/eth0.1/forwarding": "net/ipv4/conf/eth0.1/forwarding",
	} {
		require.Equal(t, want, keyOf(name))
	}
}

func TestValidate(t *testing.T) {
	no := false
	modtest.Validates(t, []modtest.Verdict[Sysctl]{
		{Name: "a value", Of: Sysctl{Name: "vm.swappiness", Value: "1"}},
		{Name: "absent", Of: Sysctl{Name: "vm.swappiness", Ensure: absent}},
		{Name: "no value", Of: Sysctl{Name: "vm.swappiness"}, Err: `value: "value" cannot be empty`},
		{Name: "two lines", Of: Sysctl{Name: "vm.swappiness", Value: "1\n2"}, Err: `value: "value" must be one line, without NUL bytes`},
		{Name: "up", Of: Sysctl{Name: "vm/../kernel", Value: "1"}, Err: "name: this names no setting (write a name such as net.ipv4.ip_forward)"},
		{Name: "a path", Of: Sysctl{Name: "/proc/sys/vm", Value: "1"}, Err: "name: this names no setting (write a name such as net.ipv4.ip_forward)"},
		{Name: "a line", Of: Sysctl{Name: "vm.swappiness=1", Value: "1"}, Err: "name: this names no setting (write a name such as net.ipv4.ip_forward)"},
		{Name: "nothing", Of: Sysctl{Name: "vm.swappiness", Value: "1", Runtime: &no, Persist: &no}, Err: "persist: 'runtime: false' and 'persist: false' together change nothing"},
		{Name: "path", Of: Sysctl{Name: "vm.swappiness", Value: "1", Path: "a"}, Err: "path: file path must be absolute (write a path that begins with /)"},
	})
}

var tree = []modtest.Node{
	{Path: "proc", Dir: true}, {Path: "proc/sys", Dir: true}, {Path: "proc/sys/net", Dir: true},
	{Path: "proc/sys/net/forward", Text: "0\n"}, {Path: "proc/sys/net/range", Text: "1\t2\n"}, {Path: "proc/sys/net/word", Text: "cubic\n"},
	{Path: "conf", Text: "net.range = 1 2\n"},
}

func TestConverges(t *testing.T) {
	value := func(property, have, want string) modules.Change {
		return modules.Change{Property: property, Have: have, Want: want}
	}
	with := func(more string) string { return `{"root":"$ROOT","path":"/conf",` + more + `}` }
	modtest.Converges(t, modtest.Rooted(Type()), modtest.Kept("proc/sys/net/*", "$ROOT/proc/sys/net", []modtest.Fixture{
		{
			Name: "now and later", Tree: tree, Properties: with(`"name":"net.forward","value":"1"`),
			Action: "set and persisted the value", Changes: []modules.Change{value("value", "0", "1"), value("persisted", absent, "1")},
		},
		{
			Name: "now", Tree: tree, Properties: with(`"name":"net.forward","value":"1","persist":false`),
			Action: "set the value", Changes: []modules.Change{value("value", "0", "1")},
		},
		{
			Name: "later", Tree: tree, Properties: with(`"name":"net.forward","value":"1","runtime":false`),
			Action: "persisted the value", Changes: []modules.Change{value("persisted", absent, "1")},
		},
		{Name: "as it shall be", Tree: tree, Properties: with(`"name":"net.range","value":"1 2"`)},
		{
			Name: "no longer in the file", Tree: tree, Properties: with(`"name":"net.range","ensure":"absent"`),
			Action: "removed the value from the file", Changes: []modules.Change{value("persisted", "1 2", absent)},
		},
		{
			Name: "unknown", Tree: tree, Properties: with(`"name":"net.none","value":"1"`),
			Err: "this host has no setting net.none (first load the kernel module that provides it, or set 'runtime: false')",
		},
	})...)
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "sysctl", Properties: `{"root":"$ROOT","path":"/conf",` + properties + `}`}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type()), exec.Type()}, modtest.Scenario{
		Tree: tree,
		Steps: []modtest.Step{
			step(`"name":"net.forward","value":"1"`),
			step(`"name":"net/forward","value":"1"`),
			step(`"name":"net.forward","value":"0"`),
			step(`"name":"net.forward","ensure":"absent"`),
			step(`"name":"net.word","value":"bbr"`),
			{Type: "exec", Properties: `{"name":"true"}`},
			step(`"name":"net.forward","value":"1"`),
		},
		Want: []string{"changed", "stable", "changed", "changed", "changed unknown", "changed likely", "changed unknown"},
	})
}

// TestEffects names the settings that the kernel sets with another one. "?" is a value that it may keep.
func TestEffects(t *testing.T) {
	root := t.TempDir()
	nodes := []modtest.Node{{Path: "proc", Dir: true}}
	for _, dir := range []string{"", "net", "net/ipv4", "net/ipv6", "net/ipv4/conf", "net/ipv6/conf", "net/ipv4/neigh"} {
		nodes = append(nodes, modtest.Node{Path: "proc/sys/" + dir, Dir: true})
	}
	for _, name := range []string{"all", "default", "eth0.1"} {
		for _, dir := range []string{"net/ipv4/conf/", "net/ipv6/conf/", "net/ipv4/neigh/"} {
			if dir+name != "net/ipv4/neigh/all" {
				nodes = append(nodes, modtest.Node{Path: "proc/sys/" + dir + name, Dir: true})
			}
		}
	}
	modtest.Build(t, root, nodes)
	conf := func(family, setting string, values ...string) map[string]string {
		all := map[string]string{}
		for i, name := range []string{"all", "default", "eth0.1"} {
			if values[i] != "" {
				all["net/"+family+"/conf/"+name+"/"+setting] = values[i]
			}
		}
		return all
	}
	and := func(all map[string]string, more ...string) map[string]string {
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for _, test := range []struct {
		name, value string
		want        map[string]string
	}{
		{"kernel.panic", "10", map[string]string{"kernel/panic": "10"}},
		{"vm.dirty_bytes", "4096", map[string]string{"vm/dirty_bytes": "4096", "vm/dirty_ratio": "0"}},
		{"net.ipv4.ip_forward", "1", and(conf("ipv4", "forwarding", "1", "1", "1"), "net/ipv4/ip_forward", "1", "net/ipv4/conf/all/accept_redirects", "0")},
		{"net.ipv4.conf.all.forwarding", "0", and(conf("ipv4", "forwarding", "0", "0", "0"), "net/ipv4/ip_forward", "0", "net/ipv4/conf/all/accept_redirects", "1")},
		{"net.ipv4.conf.default.forwarding", "1", conf("ipv4", "forwarding", "", "1", "")},
		{"net.ipv4.conf.all.rp_filter", "1", conf("ipv4", "rp_filter", "1", "", "")},
		{"net.ipv4.conf.default.rp_filter", "1", conf("ipv4", "rp_filter", "", "1", "?")},
		{"net.ipv6.conf.all.disable_ipv6", "1", conf("ipv6", "disable_ipv6", "1", "1", "1")},
		{"net.ipv6.conf.all.accept_ra", "0", conf("ipv6", "accept_ra", "0", "", "")},
		{"net.ipv6.conf.eth0/1.forwarding", "1", conf("ipv6", "forwarding", "", "", "1")},
		{"net.ipv4.neigh.default.retrans_time_ms", "5", map[string]string{
			"net/ipv4/neigh/default/retrans_time_ms": "5", "net/ipv4/neigh/default/retrans_time": "?",
			"net/ipv4/neigh/eth0.1/retrans_time_ms": "?", "net/ipv4/neigh/eth0.1/retrans_time": "?",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := map[string]string{}
			for _, e := range (&Sysctl{Name: test.name}).effects(modtest.RootedHost(root, modtest.Host()), test.value) {
				switch {
				case e.Kind == settingEffect:
					got[e.Key] = e.State.(string)
				case e.State == modules.EffectKind(""):
					got[strings.TrimPrefix(e.Key, settings+"/")] = "?"
				}
			}
			require.Equal(t, test.want, got)
		})
	}
}

// TestReversal brings back the value that held, and the file, also after another value.
func TestReversal(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, tree)
	with := func(value string) modules.Reverser {
		return modtest.In(root, &Sysctl{Name: "net.forward", Ensure: present, Value: value, Path: "/conf"})
	}
	modtest.Undone(t, root, with("1"), with("2"))
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, tree)
	s := &Sysctl{Name: "net.range", Value: "3 4", Path: "/conf"}
	h := modtest.RootedHost(root, modules.ReadOnly(modtest.Host()))
	modtest.Describes(t, h, s, `{"ensure":"present","name":"net.range","value":"1 2","persisted":"1 2","path":"/conf"}`)
	sources, err := s.Watch(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, modules.Sources{Paths: []string{"/conf"}, Polled: "the value that holds now"}, sources)
}
