package ral

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// says returns a provider in sh that describes itself with the metadata, and reports one attribute.
func says(metadata string) string {
	return "#!/bin/sh\ncase $1 in\nral_action=describe) echo x >>$(dirname $0)/described; echo '" + metadata + "';;\n" +
		`ral_action=get) echo '{"resources":[{"name":"n","from":"'$0'"}]}';;` + "\nesac\n"
}

const from = "attributes: {name: , from: }"

// TestFind chooses a provider; n is reported to be from its file.
func TestFind(t *testing.T) {
	for _, test := range []struct {
		name       string
		play, host map[string]string
		properties string
		want       string
	}{
		{"by type", map[string]string{"a.prov": says("provider: {type: t, invoke: json, suitable: true, " + from + "}")}, nil,
			`"type":"t"`, "from: PLAY/a.prov -> x"},
		{"by name", map[string]string{"providers/a.prov": says("provider: {type: t, name: p, invoke: json, suitable: true, " + from + "}")}, nil,
			`"provider":"p"`, "from: PLAY/providers/a.prov -> x"},
		{"by both in one", map[string]string{"a.prov": says("provider: {type: t, invoke: json, suitable: 'true', " + from + "}")}, nil,
			`"provider":"t::a"`, "from: PLAY/a.prov -> x"},
		{"by both", map[string]string{"a.prov": says("provider: {type: t, invoke: json, suitable: {commands: [sh]}, " + from + "}")}, nil,
			`"type":"t","provider":"a"`, "from: PLAY/a.prov -> x"},
		{"on the host", nil, map[string]string{"providers/b.prov": says("provider: {type: t, invoke: json, suitable: true, " + from + "}")},
			`"type":"t"`, "from: HOST/providers/b.prov -> x"},
		{"on the host, with a file beside", nil, map[string]string{"providers/b.prov": says(""), "providers/b.yaml": "provider: {type: t, invoke: json, suitable: true, " + from + "}"},
			`"type":"t"`, "from: HOST/providers/b.prov -> x"},
		{"not below the data directory itself", nil, map[string]string{"b.prov": says("provider: {type: t, invoke: json, suitable: true, " + from + "}")},
			`"type":"t"`, `failed: no provider of type "t"`},
		{"the play's wins", map[string]string{"a.prov": says(""), "a.yaml": "provider: {type: t, invoke: json, suitable: true, " + from + "}"},
			map[string]string{"providers/b.prov": says("provider: {type: t, invoke: json, suitable: true, " + from + "}")},
			`"type":"t"`, "from: PLAY/a.prov -> x"},
		{"only one is suitable", map[string]string{
			"a.prov": says("provider: {type: t, invoke: json, suitable: {commands: [no-such-command]}, " + from + "}"),
			"b.prov": says("provider: {type: t, invoke: json, suitable: {commands: [sh, not no-such-command]}, " + from + "}"),
			"c.prov": says("provider: {type: t, invoke: json, suitable: false, " + from + "}"),
		}, nil, `"type":"t"`, "from: PLAY/b.prov -> x"},
		{"none is suitable", map[string]string{
			"a.prov": says("provider: {type: t, invoke: json, suitable: {commands: [no-such-command]}, " + from + "}"),
			"b.prov": says("provider: {type: t, invoke: json, suitable: {commands: [not sh]}, " + from + "}"),
			"c.prov": says("provider: {type: t, invoke: json, suitable: false, " + from + "}"),
		}, nil, `"type":"t"`, `failed: no provider of type "t" is suitable for this host: t::a (resources/a.prov) needs the command "no-such-command"; ` +
			`t::b (resources/b.prov) is for hosts without the command "sh"; t::c (resources/c.prov) is marked as unsuitable`},
		{"two are suitable", map[string]string{
			"a.prov": says("provider: {type: t, invoke: json, suitable: true, " + from + "}"),
			"b.prov": says("provider: {type: t, invoke: json, suitable: true, " + from + "}"),
		}, nil, `"type":"t"`, `failed: more than one provider of type "t" is suitable for this host: t::a (resources/a.prov), t::b (resources/b.prov); write provider: t::a`},
		{"a name comes before a type", map[string]string{
			"a.prov": says("provider: {type: p, invoke: json, suitable: true, " + from + "}"),
			"b.prov": says("provider: {type: t, name: p, invoke: json, suitable: true, " + from + "}"),
		}, nil, `"provider":"p"`, "from: PLAY/b.prov -> x"},
		{"a type where there is no such name", map[string]string{"a.prov": says("provider: {type: p, invoke: json, suitable: true, " + from + "}")}, nil,
			`"provider":"p"`, "from: PLAY/a.prov -> x"},
		{"none at all", nil, nil, `"provider":"t::x"`, `failed: no provider "t::x"`},
		{"another one", map[string]string{"a.prov": says(""), "a.yaml": "provider: {type: t, invoke: json, suitable: true, " + from + "}"},
			map[string]string{"providers/b.prov": says("provider: {type: t, invoke: json, suitable: true, " + from + "}")},
			`"type":"s","provider":"x"`, `failed: no provider "s::x"; known: t::a (resources/a.prov), t::b (HOST/providers/b.prov)`},
		{"another one, next to one without a file", map[string]string{"a.prov": says(""), "a.yaml": "provider: {type: t, invoke: json, suitable: true, " + from + "}",
			"u.prov": says("provider: {type: u, invoke: json, suitable: true, " + from + "}")}, nil,
			`"type":"s","provider":"x"`, `failed: no provider "s::x"; known: t::a (resources/a.prov), u::u (resources/u.prov)`},
		{"what is ignored", map[string]string{"a.prov": "#!/no/interpreter\n", "b.prov": "#!/bin/sh\necho warn: w >&2; exit 4\n", "c.prov": says("provider: {type: [t]}"), "d.prov": says("}{")},
			nil, `"type":"t"`, `failed: no provider of type "t"; ignored: ` +
				"resources/a.prov: provider ?::a: describe could not be run: its interpreter \"/no/interpreter\" is not on the host; " +
				"resources/b.prov: provider ?::b: describe ended with exit code 4: warn: w; " +
				"resources/c.prov: its metadata: provider.type is a list, which it cannot be; what describe printed begins with \"provider: {type: [t]}\"; " +
				"resources/d.prov: its metadata: yaml: did not find expected node content; what describe printed begins with \"}{\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, host := folder(t, test.play), realDir(t)
			put(t, host, test.host)
			t.Setenv("RALSH_DATA_DIR", "relative:"+host+":/nowhere")
			for _, name := range []string{"kv.prov", "conf.prov", "canned.prov"} { // only the providers of the test remain
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
			}
			r := of(t, dir, `{"name":"n",`+test.properties+`,"properties":{"from":"x"}}`).checked().results(t)[0]
			got := named(brief(r), map[string]string{"PLAY": dir, "HOST": host})
			if r.Status == wire.Failed {
				require.Equal(t, test.want, got)
				return
			}
			require.Contains(t, got, "\n  "+test.want)
		})
	}
}

// TestDescribedOnce checks that describe is called once per provider, and never for one with a metadata file.
func TestDescribedOnce(t *testing.T) {
	metadata := "provider: {type: t, invoke: json, suitable: true, " + from + "}"
	dir := folder(t, map[string]string{"a.prov": says(metadata)})
	for _, name := range []string{"kv.prov", "conf.prov", "canned.prov"} {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	properties := `{"name":"n","type":"t","properties":{"from":"` + dir + `/a.prov"}}`
	require.Equal(t, "stable\nstable\nstable", briefs(of(t, dir, properties, properties, properties).results(t)))
	require.Equal(t, "x\n", read(t, dir, "described"))

	require.NoError(t, os.Remove(filepath.Join(dir, "described")))
	put(t, dir, map[string]string{"a.yaml": metadata})
	require.Equal(t, "stable", brief(one(t, dir, properties)))
	require.NoFileExists(t, filepath.Join(dir, "described"))
}

// TestFilesOfProviders checks links, files without permission to execute, and folders.
func TestFilesOfProviders(t *testing.T) {
	host := realDir(t)
	put(t, host, map[string]string{"real/a.prov": says("provider: {type: t, name: linked, invoke: json, suitable: true, " + from + "}"), "providers/plain.prov": says(""), "providers/dir.prov/x": ""})
	require.NoError(t, os.Chmod(filepath.Join(host, "providers/plain.prov"), 0o644))
	require.NoError(t, os.Symlink("../real/a.prov", filepath.Join(host, "providers/l.prov")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(host, "providers/lost.prov")))
	t.Setenv("RALSH_DATA_DIR", host)
	dir := realDir(t)
	require.Equal(t, "stable", brief(one(t, dir, `{"name":"n","provider":"linked","properties":{"from":"`+host+`/real/a.prov"}}`)))
	require.Equal(t, `failed: no provider "x"; known: t::linked (HOST/providers/l.prov); ignored: HOST/providers/dir.prov: not a file; `+
		"HOST/providers/lost.prov: lstat HOST/providers/nowhere: no such file or directory; HOST/providers/plain.prov: not executable",
		named(brief(one(t, dir, `{"name":"n","provider":"x"}`)), map[string]string{"HOST": host}))
}

// TestEarlierDirectoryWins puts one provider in two directories.
func TestEarlierDirectoryWins(t *testing.T) {
	first, second := realDir(t), realDir(t)
	for _, dir := range []string{first, second} {
		put(t, dir, map[string]string{"providers/a.prov": says("provider: {type: t, invoke: json, suitable: true, " + from + "}")})
	}
	t.Setenv("RALSH_DATA_DIR", first+":"+second)
	require.Equal(t, "stable", brief(one(t, realDir(t), `{"name":"n","type":"t","properties":{"from":"`+first+`/providers/a.prov"}}`)))
}

// TestSuitableOnceItIsThere checks that an earlier resource may add a command that a provider needs.
func TestSuitableOnceItIsThere(t *testing.T) {
	tool := filepath.Join(realDir(t), "tool")
	dir := folder(t, map[string]string{"a.prov": says(""), "a.yaml": "provider: {type: t, invoke: json, suitable: {commands: [" + tool + "]}, " + from + "}"})
	r := of(t, dir, `{"name":"n","type":"t","properties":{"from":"`+dir+`/a.prov"}}`)
	text, err := json.Marshal(map[string]any{"name": "install", "command": "install -m 755 /dev/null " + tool, "creates": tool})
	require.NoError(t, err)
	r.entries = append([]wire.Entry{{Type: "exec", Name: "install", Properties: text}}, r.entries...)
	predicted := r.checked().results(t)
	require.Equal(t, "changed: Would fail unless exec#install fixes this first: no provider of type \"t\" is suitable for this host: t::a (resources/a.prov) needs the command \""+tool+"\"", brief(predicted[1]))
	require.NotEqual(t, modules.Certain, predicted[1].Grade)
	require.Equal(t, "changed: executed\nstable", briefs(r.results(t)))
}

// TestRootRunsNothingOfOthers checks providers of the host that others can change, and a directory in which they can
// put some. Not even describe may run.
func TestRootRunsNothingOfOthers(t *testing.T) {
	needs.Root(t, "others than root may trust whom they like")
	provider := says("provider: {type: t, invoke: json, suitable: true, " + from + "}")
	for _, test := range []struct{ name, path, want string }{
		{"a provider", "providers/a.prov", "HOST/providers/a.prov: user 1000 can change HOST/providers/a.prov"},
		{"their directory", "providers", "HOST/providers: user 1000 can change HOST/providers"},
		{"one above", ".", "HOST/providers: user 1000 can change HOST"},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := realDir(t)
			put(t, host, map[string]string{"providers/a.prov": provider})
			require.NoError(t, os.Chown(filepath.Join(host, test.path), 1000, 0))
			t.Setenv("RALSH_DATA_DIR", host)
			require.Equal(t, `failed: no provider of type "t"; ignored: `+test.want,
				named(brief(one(t, realDir(t), `{"name":"n","type":"t"}`)), map[string]string{"HOST": host}))
			require.NoFileExists(t, filepath.Join(host, "providers/described"))
		})
	}
}
