package jinja_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/jinja"
	"github.com/ccm-push/ccm-push/templates/render"
)

func env() *render.Env {
	lazy := func(m map[string]any) *render.Lazy { return render.NewLazy(func() map[string]any { return m }) }
	return &render.Env{
		Data: map[string]any{
			"base": "/srv", "port": int64(80), "on": true, "off": false, "nothing": nil, "empty": "", "ratio": 1.5, "evil": "{{ base }}",
			"list": []any{"a", int64(2), true}, "app": map[string]any{"dir": "/opt/App", "ports": []any{int64(1), int64(2)}, "é": "ü\"\\\n😀"},
			"key": "dir", "both": int64(80), "secret": "hunter2", "lists": []any{"{{ base }}", "{% raw %}"},
		},
		Environ: map[string]any{"HOME": "/root"},
		Facts: map[string]any{
			"host": map[string]any{
				"info": map[string]any{
					"os": "linux", "platform": "debian", "platformFamily": "debian", "platformVersion": "12.11", "kernelArch": "x86_64",
					"hostname": "web1.example.com", "evil": "{{ base }}",
				},
				"release": map[string]any{"codename": "bookworm"}, "service_manager": "systemd",
			},
			"memory": map[string]any{"virtual": map[string]any{"total": int64(4 << 30)}},
			"network": map[string]any{
				"default_ipv4": "10.0.0.1", "default_ipv6": "", "default_interface": "eth0", "default_gateway": "10.0.0.254",
				"interfaces": []any{
					map[string]any{"name": "lo", "addrs": []any{map[string]any{"addr": "127.0.0.1/8"}}},
					map[string]any{"name": "eth0", "mtu": int64(1400), "hardwareAddr": "02:fc:00:00:00:01", "addrs": []any{map[string]any{"addr": "10.0.0.1/24"}, map[string]any{"addr": "fd00::2/64"}}},
				},
			},
			"identity": map[string]any{"fqdn": "web1.example.com", "user": map[string]any{
				"name": "root", "uid": int64(0), "gid": int64(0), "home": "/root", "shell": "/bin/bash", "comment": "root",
			}},
			"cpu": map[string]any{"info": []any{
				map[string]any{"physicalId": "0", "coreId": "0"}, map[string]any{"physicalId": "0", "coreId": "1"},
			}},
		},
		Inventory: &render.Inventory{
			Host:   lazy(map[string]any{"name": "web1.example.com", "groups": []any{"web"}}),
			Groups: lazy(map[string]any{"web": []any{"web1", "web2"}}),
			Hosts: lazy(map[string]any{"web2": map[string]any{"ip": "10.0.0.2", "facts": map[string]any{
				"host": map[string]any{"info": map[string]any{"platformFamily": "rhel"}},
			}}}),
			Play: lazy(map[string]any{"name": "the play", "hosts": []any{"web1", "web2"}}),
			Run:  lazy(map[string]any{"check": false}),
			Results: lazy(map[string]any{
				"both":   map[string]any{"changed": true, "failed": false, "skipped": false, "exit_code": int64(0), "stdout": "1", "stdout_trimmed": "1", "stderr": ""},
				"done":   map[string]any{"changed": true, "failed": false, "skipped": false, "status": "changed", "type": "exec", "name": "x", "exit_code": int64(3), "stdout": "{{ base }}\r\nb\n\n", "stdout_trimmed": "{{ base }}\r\nb", "stderr": "oops\n", "error": ""},
				"failed": map[string]any{"changed": false, "failed": true, "skipped": false, "error": "exited"},
				"no":     map[string]any{"changed": false, "failed": false, "skipped": true, "stdout": unusable, "error": ""},
				"unsure": map[string]any{"changed": false, "failed": false, "skipped": false, "stdout_trimmed": unusable, "exit_code": unusable},
				"all": []any{
					map[string]any{"changed": false, "failed": false, "skipped": true, "item": "a"},
					map[string]any{"changed": true, "failed": false, "skipped": false, "item": map[string]any{"k": "v"}, "stdout_trimmed": "out", "exit_code": int64(0)},
				},
			}),
		},
	}
}

var unusable = render.Refused{Fault: diag.Faultf("it ran no command")}

func settle(t *testing.T, source string) (any, error) {
	text, err := jinja.ParseText(source, at)
	if err != nil {
		return nil, err
	}
	return text.Settle(render.New(t.Context(), env()))
}

// renderIn renders a template with files.
func renderIn(t *testing.T, source string, content map[string]string) (string, error) {
	files := folder(t, content)
	tmpl, err := jinja.Parse(source, diag.WholeFile("main.j2"), files)
	if err != nil {
		return "", err
	}
	e := env()
	e.Files = files
	return tmpl.Render(t.Context(), e)
}

// TestVariables has the variables of Ansible's inventory and run, and its facts.
func TestVariables(t *testing.T) {
	for source, want := range map[string]string{
		"{{ inventory_hostname }} {{ inventory_hostname_short }} {{ group_names | join }} {{ ansible_host }}":                                                                                    "web1.example.com web1 web web1.example.com",
		"{{ groups['web'] | join(',') }} {{ groups.web | length }} {{ 'db' in groups }}":                                                                                                         "web1,web2 2 False",
		"{{ hostvars['web2'].ip }} {{ hostvars[groups.web[1]]['ip'] }} {{ hostvars.web2.inventory_hostname }}":                                                                                   "10.0.0.2 10.0.0.2 web2",
		"{{ hostvars['web2'].ansible_os_family }} {{ hostvars.web2.ansible_facts.os_family }}":                                                                                                   "RedHat RedHat",
		"{{ hostvars['nope'] is defined }} {{ hostvars.web2.nope | default('x') }}":                                                                                                              "False x",
		"{{ ansible_play_hosts | join(',') }} {{ ansible_play_name }} {{ ansible_check_mode }}":                                                                                                  "web1,web2 the play False",
		"{{ ansible_os_family }} {{ ansible_facts['os_family'] }} {{ ansible_facts.ansible_os_family }}":                                                                                         "Debian Debian Debian",
		"{{ ansible_distribution }} {{ ansible_distribution_version }} {{ ansible_distribution_release }}":                                                                                       "Debian 12 bookworm",
		"{{ ansible_distribution_major_version }} {{ ansible_pkg_mgr }} {{ ansible_system }}":                                                                                                    "12 apt Linux",
		"{{ ansible_architecture }} {{ ansible_hostname }} {{ ansible_nodename }}":                                                                                                               "x86_64 web1 web1.example.com",
		"{{ ansible_memtotal_mb }} {{ ansible_processor_vcpus }} {{ ansible_default_ipv4.address }}":                                                                                             "4096 2 10.0.0.1",
		"{{ ansible_fqdn }} {{ ansible_domain }} {{ ansible_user_id }} {{ ansible_user_uid + 1 }} {{ ansible_user_dir }} {{ ansible_user_gecos }}":                                               "web1.example.com example.com root 1 /root root",
		"{{ ansible_env.HOME }} {{ ansible_env['SHELL'] }} {{ ansible_facts.env.USER }} {{ ansible_service_mgr }}":                                                                               "/root /bin/bash root systemd",
		"{{ ansible_default_ipv4.interface }} {{ ansible_default_ipv4.gateway }} {{ ansible_default_ipv4.netmask }} {{ ansible_default_ipv4['prefix'] }}":                                        "eth0 10.0.0.254 255.255.255.0 24",
		"{{ ansible_default_ipv4.network }} {{ ansible_default_ipv4.macaddress }} {{ ansible_default_ipv4.mtu }} {{ ansible_all_ipv4_addresses }}":                                               "10.0.0.0 02:fc:00:00:00:01 1400 ['10.0.0.1']",
		"{{ ansible_processor_cores }} {{ ansible_processor_count }} {{ ansible_processor_threads_per_core }}":                                                                                   "2 1 1",
		"{{ done.stdout }}|{{ done.stdout_lines }}|{{ done.rc }}|{{ done.stderr }}|{{ done.stderr_lines }}|{{ done['changed'] }}{{ done.failed }}":                                               "{{ base }}\r\nb|['{{ base }}', 'b']|3|oops|['oops']|TrueFalse",
		"{{ done is changed }}{{ done is failed }}{{ done is skipped }}{{ done is succeeded }}{{ done is not changed }}{{ done.skipped | default(false) }}":                                      "TrueFalseFalseTrueFalseFalse",
		"{{ failed is failed }} {{ failed.msg }} {{ no is skipped }} {{ no.stdout | default('none') }} {{ no.skipped }} {{ no.rc is defined }}":                                                  "True exited True none True False",
		"{{ both.stdout }} {{ Data.both }} {{ vars.both }}":                                                                                                                                      "1 80 80",
		"{{ all.results | length }}{{ all is changed }}{{ all is skipped }}{{ all.changed }}{% for r in all.results %}[{{ r.item }}{{ r is skipped }}{{ r.stdout | default('-') }}]{% endfor %}": "2TrueFalseTrue[aTrue-][{'k': 'v'}Falseout]",
		"{{ all.results | selectattr('stdout', 'defined') | map(attribute='stdout') | join }}":                                                                                                   "out",
		"{{ ansible_default_ipv6.address | default('none') }} {{ ansible_managed }}":                                                                                                             "none Ansible managed",
		"{{ vars['base'] }} {{ vars.port + 1 }} {{ lookup('vars', 'ba' ~ 'se') }}":                                                                                                               "/srv 81 /srv",
		"{{ Data.port }} {{ Facts.host.info.os }} {{ Host.name }} {{ Environ.HOME }} {{ lookup('env', 'HOME') }}":                                                                                "80 linux web1.example.com /root /root",
		"{{ evil }} {{ lists }} {{ lists | first }} {{ nope | default(evil) }} {{ Facts.host.info.evil }}":                                                                                       "{{ base }} ['{{ base }}', '{% raw %}'] {{ base }} {{ base }} {{ base }}",
	} {
		got, err := renderIn(t, source, nil)
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
}

// TestErrors has errors of all kinds, with file, line and column.
func TestErrors(t *testing.T) {
	files := map[string]string{
		"part.j2": "one\n  {{ base.x.y }}", "bad.j2": "one\n{% if %}", "self.j2": "{% include 'self.j2' %}", "macros.j2": "\n{% macro m(a) %}\n{{ a.b.c }}\n{% endmacro %}",
		"up.j2": "{% extends 'up.j2' %}",
	}
	for _, c := range []struct{ source, want string }{
		{"a\n{{ bas }}", "main.j2:2:4: \"bas\" is not defined\n  hint: did you mean \"base\"?"},
		{"a\n{{ zzzzzz }}", "main.j2:2:4: \"zzzzzz\" is not defined\n  hint: if it may be missing, write zzzzzz | default(…)"},
		{"{{ app.nope }}", "main.j2:1:7: there is no key \"nope\" in app\n  hint: if it may be missing, write app.nope | default(…)"},
		{"{{ app.dri }}", "main.j2:1:7: there is no key \"dri\" in app\n  hint: did you mean \"dir\"? if it may be missing, write app.dri | default(…)"},
		{"\n\n{{ list[7] }}", "main.j2:3:8: the list has only 3 elements"},
		{"{{ list + 1 }}", "main.j2:1:9: \"+\" does not work with list and int"},
		{"{{ 1 / 0 }}", "main.j2:1:6: division by zero"},
		{"{% set x = 1 %}\n{{ x < 'a' }}", "main.j2:2:6: int and str cannot be ordered"},
		{"{{ base | upcase }}", "main.j2:1:11: there is no filter \"upcase\"\n  hint: ccm-push help functions lists all"},
		{"{{ base | uper }}", "main.j2:1:11: there is no filter \"uper\"\n  hint: did you mean \"upper\"?"},
		{"{{ app | json_query('a') }}", "main.j2:1:10: there is no filter \"json_query\"\n  hint: it needs JMESPath; write a loop, or selectattr and map"},
		{"{{ base is strnig }}", "main.j2:1:12: there is no test \"strnig\"\n  hint: did you mean \"string\"?"},
		{"{% if base %}", "main.j2:1:14: the template ends where \"endif\" is missing"},
		{"{% for x in list %}\n{% endif %}", "main.j2:2:4: unexpected \"endif\"; \"endfor\" is expected"},
		{"{% do x %}", "main.j2:1:4: unknown statement \"do\""},
		{"x\n{{ base", "main.j2:2:1: the tag does not end\n  hint: write }}"},
		{"x {# note", "main.j2:1:3: the comment does not end\n  hint: write #}"},
		{"{% raw %}{{ x }}", "main.j2:1:1: the block \"raw\" does not end\n  hint: write {% endraw %}"},
		{"{{ 'abc }}", "main.j2:1:4: a text whose quote is not closed"},
		{"{{ (1 + 2 }}", "main.j2:1:11: unexpected \"}\""},
		{"{{ 1 + }}", "main.j2:1:8: unexpected end of the tag"},
		{"{{ a b }}", "main.j2:1:6: unexpected \"b\""},
		{"{{ $x }}", "main.j2:1:4: unexpected character '$'"},
		{"{{ f(a=1, 2) }}", "main.j2:1:5: the arguments of the call are in a wrong order"},
		{"{% block a %}{% endblock %}\n{% block a %}{% endblock %}", "main.j2:2:10: the block \"a\" is defined twice"},
		{"{% include 'nope.j2' %}", "main.j2:1:1: there is no such template"},
		{"{% include base %}", "main.j2:1:12: the name of a template must be a text in quotes, not a computed value"},
		{"{% include 'part.j2' %}", "part.j2:2:12: str has no key or attribute \"x\"\n  hint: if it may be missing, write … | default(…)"},
		{"{% include 'bad.j2' %}", "bad.j2:2:7: an expression is expected, not end of the tag"},
		{"{% from 'macros.j2' import m %}\n{{ m({}) }}", "macros.j2:3:7: dict has no key or attribute \"b\"\n  hint: if it may be missing, write … | default(…)"},
		{"{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}", "main.j2:1:20: the argument \"a\" of the macro \"m\" is missing"},
		{"{% macro m(a) %}{% endmacro %}\n{{ m(1, 2) }}", "main.j2:2:5: the macro \"m\" takes 1 arguments, not 2"},
		{"{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", "main.j2:1:35: the macro \"m\" has no argument \"b\""},
		{"{{ base() }}", "main.j2:1:8: str cannot be called"},
		{"{{ base.nope() }}", "main.j2:1:13: str has no key or attribute \"nope\"\n  hint: if it may be missing, write … | default(…)"},
		{"{% for x in 5 %}{% endfor %}", "main.j2:1:13: int has no elements"},
		{"{% for a, b in list %}{% endfor %}", "main.j2:1:1: 1 values for 2 names"},
		{"{{ base | replace('a') }}", "main.j2:1:11: replace: the argument \"new\" is missing"},
		{"{{ base | upper(1) }}", "main.j2:1:11: upper: 1 arguments are too many"},
		{"{{ base | regex_replace('(?=a)', '') }}", "main.j2:1:11: the regular expression is not valid, or has what Go does not have\n" +
			"  hint: Go has no lookahead ((?=…), (?!…)), no lookbehind and no backreferences (\\1) in patterns"},
		{"{{ secret | from_json }}", "main.j2:1:13: from_json: the text is not JSON"},
		{"{{ ansible_machine_id | default('x') }}", "main.j2:1:4: ccm-push has no equal of the fact ansible_machine_id; set ansible_machine_id in the data"},
		{"{{ ansible_eth0.ipv4.address | default('x') }}", "main.j2:1:4: ccm-push has no equal of the fact ansible_eth0; set ansible_eth0 in the data"},
		{"{{ ansible_default_ipv4.broadcast | default('x') }}", "main.j2:1:24: ccm-push has no equal of ansible_default_ipv4.broadcast"},
		{"{{ ansible_env.PATH is defined }}", "main.j2:1:15: ccm-push has no equal of ansible_env.PATH"},
		{"{{ ansible_env }}", "main.j2:1:4: ccm-push does not know all keys of ansible_env; use single keys"},
		{"{{ done.cmd | default('') }}", "main.j2:1:8: ccm-push has no equal of done.cmd"},
		{"{% for k, v in done.items() %}{% endfor %}", "main.j2:1:26: ccm-push does not know all keys of done; use single keys"},
		{"{{ unsure.stdout }}", "main.j2:1:10: it ran no command"},
		{"{{ lookup('file', done.stdout) }}", "main.j2:1:10: lookup: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""},
		{"{{ 5 | random }}", "main.j2:1:8: random: without a seed, each run gives another result; write seed=inventory_hostname"},
		{"{{ lookup('pipe', 'date') }}", "main.j2:1:10: lookup: there is no lookup \"pipe\" here; ccm-push help functions lists them"},
		{"#jinja2: foo: bar\nx", "main.j2:1:1: #jinja2: is followed by KEY: VALUE, such as trim_blocks: False"},
		{"{% set a.b = 1 %}", "main.j2:1:1: \"a\" is not a namespace"},
		{"{{ lookup('file', '../../x') }}", "main.j2:1:10: \"../x\" is outside the folder"},
	} {
		_, err := renderIn(t, c.source, files)
		require.Error(t, err, c.source)
		require.True(t, strings.HasPrefix(err.Error(), c.want), "%s\n%s", c.source, err)
	}
}

// TestBounds has templates that would not end, or would take all memory.
func TestBounds(t *testing.T) {
	files := map[string]string{"self.j2": "{% include 'self.j2' %}", "up.j2": "{% extends 'up.j2' %}"}
	for source, want := range map[string]string{
		"{% for i in range(10**9) %}{% endfor %}":         "rendering did not end within 20000000 steps",
		"{{ range(10**9) | list | length }}":              "a list of more than 1048576 elements",
		"{{ range(10**9) }}":                              "a list of more than 1048576 elements",
		"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}": "call each other more than 300 levels deep",
		"{{ 'x' * 10**9 }}":                               "the text grows beyond 16 MiB",
		"{{ 'x' * 10**8 * 10**8 }}":                       "the text grows beyond 16 MiB",
		"{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}": "the text grows beyond 16 MiB",
		"{% for i in range(10**6) %}{{ 'x' * 1000 }}{% endfor %}":                                         "the text grows beyond 16 MiB",
		"{% for i in range(10**6) %}{% set x = 'x' * 10**7 %}{% endfor %}":                                "makes more than 256 MiB of values",
		"{{ [0] * 10**9 }}":                                            "a list of more than 1048576 elements",
		"{{ 2 ** (10**9) }}":                                           "a number of more than 4300 digits",
		"{{ 10 ** (10 ** 10) }}":                                       "a number of more than 4300 digits",
		"{{ '%999999999d' % 1 }}":                                      "the text grows beyond 16 MiB",
		"{{ '{:999999999}'.format(1) }}":                               "the text grows beyond 16 MiB",
		"{{ 'x'.center(999999999) }}":                                  "the text grows beyond 16 MiB",
		"{{ 'x'.zfill(999999999999) }}":                                "the text grows beyond 16 MiB",
		"{{ 'x\n' | indent(999999999) }}":                              "the text grows beyond 16 MiB",
		"{{ 'xx' | replace('x', 'y' * 10**7) }}":                       "the text grows beyond 16 MiB",
		"{{ range(1000) | product(range(1000), range(1000)) | list }}": "a list of more than 1048576 elements",
		"{{ range(10) | permutations | list }}":                        "",
		"{% set l = [] %}{% set _ = l.append(l) %}{{ l }}":             "nested more than 500 levels deep",
		"{% set l = [] %}{% for i in range(10**7) %}{% set _ = l.append(i) %}{% endfor %}": "",
		"{% include 'self.j2' %}": "templates render each other more than 20 levels deep",
		"{% extends 'up.j2' %}":   "templates extend each other more than 500 levels deep",
		"{{ " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + " }}": "more than 100 brackets are open",
		"{{ " + strings.Repeat("-", 300) + "1 }}":                                 "nests more than 200 levels deep",
		strings.Repeat("{% if 1 %}", 300) + strings.Repeat("{% endif %}", 300):    "nests more than 200 levels deep",
		"{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}":                 "call each other more than 300 levels deep",
	} {
		_, err := renderIn(t, source, files)
		require.ErrorContains(t, err, want, source)
		require.ErrorContains(t, err, ".j2:", source)
	}
}

// TestSettle has values of an inventory. TestAsAnsible has more.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		source string
		want   any
	}{
		{"plain", "plain"}, {"{{ base }}/x", "/srv/x"}, {"{{ port }}", int64(80)}, {"{{ port + 1 }}", "81"}, {"{{ list }}", []any{"a", int64(2), true}},
		{"{{ on }}", true}, {"{{ on }}!", "True!"}, {"{{ nothing }}", nil}, {"{{ ratio }}", 1.5}, {"{{ evil }}", "{{ base }}"}, {"{{ lists }}", []any{"{{ base }}", "{% raw %}"}},
		{"{{ app }}", map[string]any{"dir": "/opt/App", "ports": []any{int64(1), int64(2)}, "é": "ü\"\\\n😀"}},
		{"{{ inventory_hostname }}", "web1.example.com"}, {"{{ hostvars[groups.web[1]]['ip'] }}", "10.0.0.2"}, {"{{ nope | default('x') }}", "x"}, {"{{ Data | default('no root') }}", "no root"},
	} {
		got, err := settle(t, c.source)
		require.NoError(t, err, c.source)
		require.Equal(t, c.want, got, c.source)
	}
	_, err := settle(t, "{{ secret | from_json }}")
	require.EqualError(t, err, "hosts.yaml:3:20: from_json: the text is not JSON")
}

// TestConditions has expressions of `when`.
func TestConditions(t *testing.T) {
	for source, want := range map[string]bool{
		"port == 80 and base": true, "port > 80": false, "nope is defined": false, "list | length > 2": true, "empty": false, "'off'": true, "ansible_os_family == 'Debian'": true,
		"inventory_hostname in groups['web'] or not on": false,
	} {
		c, err := jinja.ParseCondition(source, at)
		require.NoError(t, err, source)
		got, err := c.Settle(render.New(t.Context(), env()))
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
	_, err := jinja.ParseCondition("port ==", at)
	require.EqualError(t, err, "hosts.yaml:3:15: unexpected end of the tag")
	c, err := jinja.ParseCondition("port and nope", at)
	require.NoError(t, err)
	_, err = c.Settle(render.New(t.Context(), env()))
	require.ErrorContains(t, err, `hosts.yaml:3:13: "nope" is not defined`)
}

// TestReads compares the values that a source can read, taken from its syntax tree.
func TestReads(t *testing.T) {
	for source, want := range map[string]string{
		"{{ a.b }}{{ c[key] | default(d) }}{{ inventory_hostname }}":            "data a.b c d inventory_hostname key, host name",
		"{% for x in users %}{{ x.name }}{{ loop.index }}{% endfor %}{{ x }}":   "data users x",
		"{% set v = port %}{{ v }}{% if on %}{% set w = 1 %}{% endif %}{{ w }}": "data on port w",
		"{% macro m(a, b=c) %}{{ a }}{{ d }}{% endmacro %}{{ m(e) }}":           "data c d e",
		"{{ d.items() }}{{ d2['k'].values() }}{{ l[-1].x }}{{ l2.0.y }}":        "data d d2.k l l2.0.y",
		"{{ ansible_os_family }}{{ ansible_facts['kernel'] }}":                  "data ansible_facts.kernel ansible_os_family, facts host.info.kernelVersion host.info.platformFamily",
		"{{ Facts.host.info.os }}{{ Data.x.y }}":                                "data x.y, facts host.info.os",
		"{{ ansible_facts }}":                                                   "data ansible_facts, facts all",
		"{{ vars }}":                                                            "data all",
		"{{ hostvars[x].ansible_os_family }}":                                   "data x, others *.ansible_os_family?",
		"{{ lookup('vars', 'a') }}{{ lookup('env', 'X') }}":                     "data a, environ",
		"{% include 'part.j2' %}":                                               "data inside",
		"{% extends 'base.j2' %}{% block b %}{{ mine }}{% endblock %}":          "data mine theirs",
		"{{ lookup('template', 'part.j2') }}":                                   "data inside",
	} {
		files := folder(t, map[string]string{"part.j2": "{{ inside }}", "base.j2": "{{ theirs }}{% block b %}{% endblock %}"})
		tmpl, err := jinja.Parse(source, diag.WholeFile("main.j2"), files)
		require.NoError(t, err)
		in := tmpl.Reads().Inputs(files)
		var parts []string
		add := func(name string, paths []string, all bool) {
			if all {
				paths = []string{"all"}
			}
			if len(paths) > 0 {
				parts = append(parts, name+" "+strings.Join(paths, " "))
			}
		}
		paths, all := in.Data()
		add("data", paths, all)
		paths, all = in.Facts()
		add("facts", paths, all)
		if in.Reads(render.EnvironRoot) {
			parts = append(parts, "environ")
		}
		if strings.Contains(source, "inventory_hostname") {
			parts = append(parts, "host name")
		}
		if strings.Contains(source, "hostvars") {
			others, _ := in.OtherFacts()
			require.NotEmpty(t, others)
			continue
		}
		require.Equal(t, want, strings.Join(parts, ", "), source)
	}
}

// TestTaint checks which values a host may influence.
func TestTaint(t *testing.T) {
	text, err := jinja.ParseText("{{ a.b }}{{ c[key] | default(d) }}{{ inventory_hostname }}", at)
	require.NoError(t, err)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true, "key": true} {
		require.Equal(t, want, text.FromHost(render.Taint{Data: map[string]bool{key: true}}), key)
	}
	for source, want := range map[string]bool{
		"{{ hostvars[x].ip }}": false, "{{ hostvars['a'].ip }}": false, "{{ hostvars[x].facts.os }}": true, "{{ hostvars[x][y] }}": true, "{{ hostvars | length }}": true,
		"{{ ansible_os_family }}": true, "{{ 'a' if ansible_os_family == 'Debian' else 'b' }}": false, "{% set x = ansible_kernel %}{{ x }}": true,
		"{% for x in [ansible_kernel] %}{{ x }}{% endfor %}": true, "{% macro m(a) %}{{ ansible_kernel }}{% endmacro %}{{ m(1) }}": true, "{{ nope | default(ansible_kernel) }}": true,
	} {
		text, err := jinja.ParseText(source, at)
		require.NoError(t, err)
		require.Equal(t, want, text.FromHost(render.Taint{}), source)
	}
	files := folder(t, map[string]string{"x": "y"})
	tmpl, err := jinja.Parse("{{ lookup('file', ansible_kernel) }}", diag.WholeFile("main.j2"), files)
	require.NoError(t, err)
	require.ErrorContains(t, tmpl.CheckPaths(files, render.Taint{}), "main.j2:1:19: file: data from a host cannot choose which file ccm-push reads")
}

func folder(t *testing.T, content map[string]string) *render.Files {
	return openFolder(t, t.TempDir(), content)
}

// FuzzParse checks that rendering ends, that each error has a position, and that no error contains a value.
func FuzzParse(f *testing.F) {
	for _, s := range written(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		e := env()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		check := func(out string, err error) {
			if err == nil {
				return
			}
			require.NotEmpty(t, err.Error())
			require.Empty(t, out)
			if !strings.Contains(source, "hunter") {
				require.NotContains(t, err.Error(), "hunter2")
			}
		}
		tmpl, err := jinja.Parse(source, diag.WholeFile("main.j2"), nil)
		_, unused := jinja.UsesOf(source, diag.WholeFile("main.j2"))
		require.Equal(t, err == nil, unused == nil)
		if err == nil {
			check(tmpl.Render(ctx, e))
		} else {
			require.Contains(t, err.Error(), "main.j2:")
		}
		if text, err := jinja.ParseText(source, at); err == nil {
			v, err := text.Settle(render.New(ctx, e))
			if err == nil {
				_, err = render.PlainCopy(nil, v)
				require.NoError(t, err)
			} else {
				require.Contains(t, err.Error(), "hosts.yaml:3")
			}
		}
		if c, err := jinja.ParseCondition(source, at); err == nil {
			_, err := c.Settle(render.New(ctx, e))
			check("", err)
		}
	})
}
