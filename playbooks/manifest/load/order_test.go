package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
)

// resourcesOf puts resources below a play; the first line of them is line 3.
func resourcesOf(play, lines string) string { return play + "\nccm: {resources: [\n" + lines + "]}\n" }

const (
	byGraph = "strategy: graph"
	byLine  = "strategy: linear"
	anOwner = "owner: root, group: root, mode: '0644'"
)

var wrongOrders = []struct{ name, manifest, want string }{
	{"parallel above", byGraph + "\nparallel: 65\n" + some, `site.yaml:2:11: "parallel" must be from 1 to 64, not 65`},
	{"parallel below", byGraph + "\nparallel: 0\n" + some, `site.yaml:2:11: "parallel" must be from 1 to 64, not 0`},
	{"parallel is text", byGraph + "\nparallel: many\n" + some, "site.yaml:2:11: \"parallel\" must be an integer, not the text \"many\""},
	{"parallel without a graph", "parallel: 4\n" + some, "site.yaml:1:11: \"parallel\" has no effect on resources that run in the order written\n  hint: write strategy: graph as well"},
	{"before leads back", resourcesOf(byLine, "exec: [a: {}],\nexec: [b: {before: [exec#a]}]"),
		"site.yaml:4:21: exec#a comes earlier, at line 3\n  hint: resources run in the order written: move exec#b above exec#a, or set strategy: graph on the play"},
	{"notify leads back", resourcesOf(byLine, "exec: [a: {refreshonly: true}],\nexec: [b: {notify: [exec#a]}]"),
		"site.yaml:4:21: exec#a comes earlier, at line 3\n  hint: resources run in the order written: move exec#b above exec#a, or set strategy: graph on the play"},
	{"before nothing", resourcesOf(byLine, "exec: [ab: {before: [exec#ac]}]"), "site.yaml:3:22: no resource is called exec#ac"},
	{"before itself", resourcesOf(byLine, "exec: [a: {before: [exec#a]}]"), "site.yaml:3:21: exec#a refers to itself"},
	{"notify what has no refresh", resourcesOf(byLine, "exec: [a: {notify: [file#/b]}],\nfile: [/b: {"+anOwner+"}]"),
		"site.yaml:3:21: type file has no refresh, so it cannot be notified\n  hint: use \"before\" for the order"},
	{"subscribe to what never changes", resourcesOf(byLine, "wait: [a: {port: 1}],\nexec: [b: {subscribe: [wait#a]}]"),
		"site.yaml:4:24: type wait changes nothing, so no resource can subscribe to it\n  hint: use \"require\" for the order, and subscribe to a resource that changes"},
	{"notify from what never changes", resourcesOf(byLine, "assert: [a: {that: [true], notify: [exec#b]}],\nexec: [b: {refreshonly: true}]"),
		"site.yaml:3:37: type assert changes nothing, so it cannot notify\n  hint: use \"before\" for the order, and notify from a resource that changes"},
	{"no reference", resourcesOf(byGraph, "exec: [a: {before: [x]}]"), "site.yaml:3:21: \"x\" is not a reference to a resource\n  hint: write TYPE#NAME, such as file#/etc/motd"},
	{"unknown type", resourcesOf(byGraph, "exec: [a: {require: [flie#x]}]"), "site.yaml:3:22: unknown resource type \"flie\"\n  hint: did you mean \"file\"?"},
	{"not a list", resourcesOf(byGraph, "exec: [a: {before: exec#b}, b: {}]"), "site.yaml:3:20: \"before\" must be a list, not the text \"exec#b\"\n  hint: write a list: - exec#b"},
	{"itself in a graph", resourcesOf(byGraph, "exec: [a: {require: [exec#a]}]"), "site.yaml:3:22: exec#a refers to itself"},
	{"a circle", resourcesOf(byGraph, "exec: [a: {require: [exec#b]}],\nexec: [b: {notify: [exec#c]}],\nexec: [c: {refreshonly: true, before: [exec#b]}]"),
		"site.yaml:4:21: these resources wait for each other: exec#b → exec#c (notify, site.yaml:4:21) → exec#b (before, site.yaml:5:40)\n  hint: remove one of these references"},
	{"a circle over what is received", resourcesOf(byGraph, "exec: [a: {require: [file#/b]}],\nfile: [/b: {recv: {content: exec#a.stdout}, "+anOwner+"}]"),
		"site.yaml:4:29: these resources wait for each other: exec#a → file#/b (recv, site.yaml:4:29) → exec#a (require, site.yaml:3:22)\n  hint: remove one of these references"},
	{"retry", resourcesOf(byLine, "exec: [a: {retry: 1001}, b: {retry: -1}, c: {retry: x}]"),
		"site.yaml:3:19: \"retry\" must be from 0 to 1000, not 1001\nsite.yaml:3:37: \"retry\" must be from 0 to 1000, not -1\nsite.yaml:3:53: \"retry\" must be an integer, not the text \"x\""},
	{"delay without retry", resourcesOf(byLine, "exec: [a: {delay: 1s}]"), "site.yaml:3:19: \"delay\" is the time between tries, but \"retry\" is missing\n  hint: write \"retry\" as well"},
	{"delay", resourcesOf(byLine, "exec: [a: {retry: 1, delay: soon}, b: {retry: 1, delay: -1}, c: {retry: 1, delay: 31d}]"),
		"site.yaml:3:29: delay: \"soon\" is not a duration\nsite.yaml:3:57: delay: -1 is outside 0s-30d\nsite.yaml:3:83: delay: 31d is outside 0s-30d"},
	{"timeout of a type without one", resourcesOf(byLine, "file: [/a: {timeout: [1], "+anOwner+"}]"), `site.yaml:3:22: "timeout" must be a single value, not a list`},
	{"limit", resourcesOf(byLine, "exec: [a: {limit: 0}, b: {limit: .nan}, d: {limit: 1e-10}, e: {limit: 0.00001158}, c: {limit: often}]"),
		"site.yaml:3:19: \"limit\" must be from 0.00001158 (one a day) to 1000000 a second, not 0" + limitHint + "site.yaml:3:34: \"limit\" must be from 0.00001158 (one a day) to 1000000 a second, not .nan" + limitHint + "site.yaml:3:52: \"limit\" must be from 0.00001158 (one a day) to 1000000 a second, not 1e-10" + limitHint +
			"site.yaml:3:95: \"limit\" must be a number, not the text \"often\""},
	{"sema", resourcesOf(byLine, "exec: [a: {sema: ['1', 'a:0', 'a b', db, 'db:2', null]}, b: {sema: db}]"),
		"site.yaml:3:19: \"1\" names no semaphore" + semaHint + "\nsite.yaml:3:24: \"a:0\" names no semaphore" + semaHint +
			"\nsite.yaml:3:31: \"a b\" names no semaphore" + semaHint + "\nsite.yaml:3:42: the semaphore db is named twice" +
			"\nsite.yaml:3:50: \"null\" names no semaphore" + semaHint + "\nsite.yaml:3:68: \"sema\" must be a list, not the text \"db\"\n  hint: write a list: - db"},
	{"switches", resourcesOf(byLine, "exec: [a: {hidden: x}, b: {autoedge: 1}]"),
		"site.yaml:3:20: \"hidden\" must be true or false, not the text \"x\"\nsite.yaml:3:38: \"autoedge\" must be true or false, not the number 1"},
	{"recv is no map", resourcesOf(byLine, "exec: [a: {recv: stdout}]"), "site.yaml:3:18: \"recv\" must be a map, not the text \"stdout\"\n  hint: write recv: {content: exec#token.stdout}"},
	{"recv of what is no property", resourcesOf(byLine, "exec: [a: {}],\nfile: [/b: {recv: {contnt: exec#a.stdout}, "+anOwner+"}]"),
		"site.yaml:4:20: type file has no property \"contnt\"\n  hint: did you mean \"content\"?"},
	{"both given and received", resourcesOf(byLine, "exec: [a: {}],\nfile: [/b: {content: x, recv: {contents: exec#a.stdout}, "+anOwner+"}]"),
		"site.yaml:4:32: \"content\" is set both directly and by \"recv\"\n  hint: keep one of them"},
	{"the name", resourcesOf(byLine, "exec: [a: {}],\nfile: [/b: {recv: {name: exec#a.stdout}, "+anOwner+"}]"), "site.yaml:4:20: the name of a resource cannot be received"},
	{"a file of the play", resourcesOf(byLine, "exec: [a: {}],\nfile: [/b: {recv: {source: exec#a.stdout}, "+anOwner+"}]"),
		"site.yaml:4:20: \"source\" names a file of the play, which is read before hosts send values\n  hint: receive the property \"content\", the content of the file"},
	{"no value", resourcesOf(byLine, "exec: [a.b: {}],\nfile: [/b: {recv: {content: exec#a.b}, "+anOwner+"}]"),
		"site.yaml:4:29: \"exec#a.b\" names no value of a resource\n  hint: write exec#NAME.stdout; it has " + execValues},
	{"no state", resourcesOf(byLine, "file: [/a: {"+anOwner+"}],\nexec: [c: {}],\nfile: [/b: {recv: {content: file#/a.state.size, owner: exec#c.state.user}, mode: '0644', group: root}]"),
		"site.yaml:5:29: \"file#/a.state.size\" names no value of a resource\n  hint: type file has no values; " + senders +
			"site.yaml:5:56: \"exec#c.state.user\" names no value of a resource\n  hint: write exec#NAME.stdout; it has " + execValues},
	{"no state of another host", resourcesOf(byLine, "file: [/b: {recv: {content: {host: db1, from: file#/a.state}}, "+anOwner+"}]"),
		"site.yaml:3:47: \"file#/a.state\" names no value of a resource\n  hint: type file has no values; " + strings.TrimSpace(senders)},
	{"an export of no state", resourcesOf(byLine, "file: [/a: {export: [state], "+anOwner+"}]"),
		"site.yaml:3:22: type file has no value \"state\"\n  hint: type file has no values; " + strings.TrimSpace(senders)},
	{"no reference at all", resourcesOf(byLine, "file: [/b: {recv: {content: stdout}, "+anOwner+"}]"),
		"site.yaml:3:29: \"stdout\" names no value of a resource\n  hint: write type#name.key, as in exec#token.stdout"},
	{"received from nowhere", resourcesOf(byLine, "file: [/b: {recv: {content: exec#a.stdout}, "+anOwner+"}]"), "site.yaml:3:29: no resource is called exec#a"},
	{"received from a later one", resourcesOf(byLine, "file: [/b: {recv: {content: exec#a.stdout}, "+anOwner+"}],\nexec: [a: {}]"),
		"site.yaml:3:29: exec#a is defined later, at line 4\n  hint: move exec#a above this resource: resources run in the order written"},
	{"received from a hidden one", resourcesOf(byLine, "exec: [a: {hidden: true}],\nfile: [/b: {recv: {content: exec#a.stdout}, "+anOwner+"}]"),
		"site.yaml:4:29: exec#a is hidden, so it does not send \"stdout\"\n  hint: remove \"hidden\" there"},
	{"received from null", resourcesOf(byLine, "file: [/b: {recv: {content: }, "+anOwner+"}]"), "site.yaml:3:20: \"content\" in \"recv\" has no source\n  hint: write PROPERTY: type#name.key"},
	{"another host", resourcesOf(byLine, "file: [/b: {recv: {content: {host: db1}}, "+anOwner+"}],\nfile: [/c: {recv: {content: {from: exec#a.stdout, hots: x}}, "+anOwner+"}]"),
		"site.yaml:3:29: \"from\" is missing\n  hint: write {host: NAME, from: type#name.key}\n" +
			"site.yaml:4:29: \"host\" is missing\n  hint: write {host: NAME, from: type#name.key}\nsite.yaml:4:51: unknown key \"hots\" (did you mean \"host\"?)"},
	{"a host that is computed", resourcesOf(byLine, "file: [/b: {recv: {content: {host: '{{ Facts.x }}', from: exec#a.stdout}}, "+anOwner+"}]"),
		"site.yaml:3:36: \"host\" cannot be an expression\n  hint: write it literally: a fact cannot choose the host that a value comes from"},
	{"export", resourcesOf(byLine, "exec: [a: {export: [stdot, stdout, stdout]}]"),
		"site.yaml:3:21: type exec has no value \"stdot\"\n  hint: it has " + execValues + "\nsite.yaml:3:36: \"stdout\" is exported twice"},
	{"what is wrong besides what is received", "strict: true\n" + resourcesOf(byLine, "exec: [a: {}],\nfile: [/b: {recv: {content: exec#a.stdout}, owner: root, group: root}]"),
		"site.yaml:5:8: the property \"mode\" is missing or empty (the play sets strict: true)\n  hint: set \"mode\" here, or under \"defaults\" of the play"},
	{"recv of a manifest", resourcesOf(byLine, "exec: [a: {}],\napply: [x.yaml: {recv: {data: exec#a.stdout}, retry: 3}]"),
		"site.yaml:4:9: unknown manifest x.yaml\nsite.yaml:4:25: a resource that applies a manifest receives nothing\n  hint: write the key in the resources of the applied manifest\n" +
			"site.yaml:4:47: \"retry\" cannot be set for a resource that applies a manifest\n  hint: write the key in the resources of the applied manifest"},
}

const (
	semaHint   = "\n  hint: write a word of letters, digits, _, ., / and -; for two hosts at once append :2, as in database:2"
	execValues = "stdout, stdout_trimmed, stderr, output, exit_code"
	limitHint  = "\n  hint: write how many tries there may be per second: limit: 0.5\n"
	senders    = "exec has " + execValues + "; http has state; dsc has state; ral has state\n"
)

func TestWrongOrders(t *testing.T) {
	for _, c := range wrongOrders {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.manifest)
			require.EqualError(t, err, c.want)
		})
	}
}

// The including play's ordering applies before references are checked.
func TestStrategyOfIncluded(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"inner.yaml": "ccm: {resources: [exec: [a: {require: [exec#b]}, b: {}]]}\n",
		"site.yaml":  "strategy: graph\nparallel: 3\ninclude: inner.yaml\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	plays, err := Files(t.Context(), []string{filepath.Join(dir, "site.yaml")}, builtin.Types())
	require.NoError(t, err)
	require.True(t, plays[0].Graph())
	require.Equal(t, 3, plays[0].Parallel)
}
