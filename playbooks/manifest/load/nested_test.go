package load

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// child is a nested manifest of one resource.
const child = "ccm: {resources: [exec: [inner: {tags: [deep]}]]}\n"

func TestWrongNested(t *testing.T) {
	const applies = "-- site.yaml --\nccm: {resources: [apply: [a.yaml: ]]}\n-- a.yaml --\n"
	const playKey = "\n  hint: move the key to the play that applies this manifest"
	for _, c := range []struct{ name, archive, want string }{
		{"missing", "-- site.yaml --\nccm: {resources: [apply: [a.yaml: ]]}\n", "site.yaml:1:27: unknown manifest a.yaml"},
		{"a missing archive", "-- site.yaml --\nccm: {resources: [apply: [a.tgz: ]]}\n", "site.yaml:1:27: archives are not unpacked here"},
		{"a folder without one", "-- site.yaml --\nccm: {resources: [apply: [sub: ]]}\n-- sub/x --\n",
			"site.yaml:1:27: sub: is a directory; give the manifest in it, such as sub/site.yaml"},
		{"empty", applies, "a.yaml: the file is empty"},
		{"no YAML", applies + "a: [\n", "a.yaml:1: did not find expected node content\n  hint: check the indentation of this line and the quotes and brackets before it"},
		{"a scalar", applies + "x\n", "a.yaml:1:1: this is not a manifest\n  hint: a manifest is a map with a section \"ccm\""},
		{"a list of plays", applies + "- " + child, "a.yaml:1:1: a nested manifest is not a list of plays\n  hint: a play applies one manifest at a time; \"include\" takes a list of plays"},
		{"two documents", applies + child + "---\n" + child, "a.yaml:3:1: a nested manifest is one document\n  hint: write an apply resource for each"},
		{"a playbook of Ansible", applies + "tasks: []\n", "a.yaml:1:1: this is an Ansible playbook, not a manifest\n  hint: in a manifest, write ccm: {resources: [...]} instead of \"tasks\"; see docs/guide/from-ansible.md"},
		{"no ccm", applies + "data: {a: 1}\n", "a.yaml:1:1: the section \"ccm\" is missing\n  hint: a play needs ccm: {resources: [...]}"},
		{"keys of a play", applies + "name: x\nhosts: web\nbecome: true\nserial: 1\ntags: [a]\ninclude: x.yaml\nnmae: x\n" + child,
			"a.yaml:1:1: the key \"name\" cannot be used in a nested manifest\n  hint: write \"alias\" at the resource that applies it\n" +
				`a.yaml:2:1: the key "hosts" cannot be used in a nested manifest` + playKey + "\na.yaml:3:1: the key \"become\" cannot be used in a nested manifest" + playKey +
				"\na.yaml:4:1: the key \"serial\" cannot be used in a nested manifest" + playKey +
				"\na.yaml:5:1: the key \"tags\" cannot be used in a nested manifest\n  hint: write \"tags\" at the resource that applies it, or at its resources\n" +
				"a.yaml:6:1: the key \"include\" cannot be used in a nested manifest\n  hint: write an apply resource\n" +
				"a.yaml:7:1: unknown key \"nmae\"\n  hint: known keys: defaults, strict, data, vars_files, hierarchy, overrides, ccm"},
		{"all errors of all files", "-- site.yaml --\nccm: {resources: [exec: [x: {retruns: [1]}], apply: [a.yaml: {dta: 1}]]}\n"[:0] +
			"-- site.yaml --\nccm: {resources: [{exec: [x: {retruns: [1]}]}, {apply: [a.yaml: ]}, {apply: [a.yaml: ]}]}\n-- a.yaml --\nccm: {resources: [exec: [x: {commnad: y}]]}\n",
			"a.yaml:1:30: type exec has no property \"commnad\"\n  hint: did you mean \"command\"?\nsite.yaml:1:31: type exec has no property \"retruns\"\n  hint: did you mean \"returns\"?"},
		{"itself", "-- site.yaml --\nccm: {resources: [apply: [./site.yaml: ]]}\n",
			"site.yaml:1:27: a manifest applies itself: site.yaml → site.yaml\n  hint: remove this apply resource, or apply another manifest"},
		{"a circle", applies + "ccm: {resources: [apply: [b/b.yaml: ]]}\n-- b/b.yaml --\nccm: {resources: [apply: [../a.yaml: ]]}\n",
			"b/b.yaml:1:27: a manifest applies itself: site.yaml → a.yaml → b/b.yaml → a.yaml\n  hint: remove this apply resource, or apply another manifest"},
		{"denied", "-- site.yaml --\nccm: {resources: [apply: [a.yaml: {allow_apply: false}]]}\n-- a.yaml --\nccm: {resources: [apply: [b.yaml: ]]}\n-- b.yaml --\n" + child,
			"a.yaml:1:27: apply resources are denied\n  hint: site.yaml:1:27 applies this manifest with allow_apply: false"},
		{"checksum of a file", "-- site.yaml --\nccm: {resources: [apply: [a.yaml: {checksum: " + strings.Repeat("0", 64) + "}]]}\n-- a.yaml --\n" + child,
			"site.yaml:1:46: a checksum is for an archive (.tar.gz), not for other files"},
		{"no checksum of a URL", "-- site.yaml --\nccm: {resources: [apply: ['https://ann:hunter2@h/a.tar.gz': ]]}\n",
			"site.yaml:1:27: \"checksum\" is required for a manifest that is downloaded\n  hint: write the output of sha256sum: the downloaded manifest runs on your hosts"},
		{"another URL", "-- site.yaml --\nccm: {resources: [apply: ['ftp://h/a.tar.gz': ]]}\n",
			"site.yaml:1:27: name: the scheme of the URL is neither http nor https\n  hint: write https://… or a path"},
		{"a URL of no archive", "-- site.yaml --\nccm: {resources: [apply: ['https://h/a.yaml': ]]}\n",
			"site.yaml:1:27: name: the URL does not lead to a .tar.gz\n  hint: pack the folder of the manifest: tar -C FOLDER -czf x.tar.gz ."},
		{"what a host sent", "-- site.yaml --\nccm: {resources: [apply: ['{{ Facts.x }}': ]]}\n",
			"site.yaml:1:27: data from a host cannot be used as the name of a manifest\n  hint: use data of the inventory; or write one resource for each manifest, each with a condition such as control: {if: Facts.x == 'y'}"},
		{"a checksum that a host sent", "-- site.yaml --\nccm: {resources: [apply: ['https://h/a.tgz': {checksum: '{{ Facts.x }}', data: '{{ Facts }}'}]]}\n",
			"site.yaml:1:57: data from a host cannot be used as the checksum of a manifest\nsite.yaml:1:80: data from a host cannot be used as the whole data of a manifest\n  hint: write a map: data: {key: \"{{ ... }}\"}"},
		{"a key that a host sent", "-- site.yaml --\nccm: {resources: [apply: [a.yaml: {data: {'{{ Facts.x }}': y}}]]}\n-- a.yaml --\n" + child,
			"site.yaml:1:43: data from a host cannot be used as a key of the data of a manifest, or the value of a computed key\n  hint: write the key as it is: data: {key: \"{{ ... }}\"}"},
		{"below a key that is not known", "-- site.yaml --\nccm: {resources: [apply: [a.yaml: {data: {'{{ Data.x }}': '{{ Facts.x }}', '{{ Data.y }}': z}}]]}\n-- a.yaml --\n" + child,
			"site.yaml:1:43: data from a host cannot be used as a key of the data of a manifest, or the value of a computed key\n  hint: write the key as it is: data: {key: \"{{ ... }}\"}"},
		{"a subscription", "-- site.yaml --\nccm: {resources: [{exec: [x: ]}, {apply: [a.yaml: {subscribe: [exec#x]}]}]}\n-- a.yaml --\n" + child,
			"site.yaml:1:63: type apply has no refresh, so it cannot subscribe\n  hint: use \"require\" for the order"},
		{"absent", "-- site.yaml --\nccm: {resources: [apply: [a.yaml: {ensure: absent}]]}\n-- a.yaml --\n" + child,
			"site.yaml:1:44: ensure: \"absent\" is not one of \"present\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, text := load(t, c.archive)
			require.Equal(t, c.want, text)
		})
	}
}

func TestNestedReferences(t *testing.T) {
	const b = "\n-- b.yaml --\nccm: {resources: [apply: [a.yaml: ]]}\n"
	for _, c := range []struct{ name, site, inner, want string }{
		{"to a resource of a nested manifest", "[{apply: [a.yaml: ]}, {exec: [x: {require: [exec#inner, apply#a.yaml]}]}]", "[exec: [inner: ]]", ""},
		{"through two levels", "[{apply: [b.yaml: ]}, {exec: [x: {subscribe: [exec#inner]}]}]", "[exec: [inner: ]]", ""},
		{"to one of the parent", "[{exec: [x: ]}, {apply: [b.yaml: ]}]", "[exec: [inner: {require: [exec#x]}]]", ""},
		{"between two nested manifests", "[{apply: [a.yaml: ]}, {apply: [c.yaml: ]}]", "[exec: [inner: ]]", ""},
		{"to a later one of the parent", "[{apply: [a.yaml: ]}, {exec: [x: ]}]", "[exec: [inner: {require: [exec#x]}]]",
			"a.yaml:1:44: exec#x is defined later, at site.yaml:1:48\n  hint: move exec#x above this resource: resources run in the order written"},
		{"to a later one of a nested manifest", "[{exec: [x: {require: [exec#inner]}]}, {apply: [b.yaml: ]}]", "[exec: [inner: ]]",
			"site.yaml:1:41: exec#inner is defined later, at a.yaml:1:26\n  hint: move exec#inner above this resource: resources run in the order written"},
		{"to what applies it", "[apply: [a.yaml: ]]", "[exec: [inner: {require: [apply#a.yaml]}]]",
			"a.yaml:1:44: apply#a.yaml applies the manifest that contains this resource\n  hint: remove the reference: it ends after the resources of its manifest"},
		{"to what it applies", "[apply: [a.yaml: {require: [exec#inner]}]]", "[exec: [inner: ]]",
			"site.yaml:1:46: apply#a.yaml refers to exec#inner, a resource of the manifest that it applies\n  hint: remove the reference: exec#inner already runs as a part of apply#a.yaml"},
		{"to nothing", "[apply: [b.yaml: ]]", "[exec: [inner: {require: [exec#iner]}]]",
			"a.yaml:1:44: no resource is called exec#iner"},
		{"to nothing, while a manifest is not known", "[{apply: ['{{ Data.x }}': ]}, {exec: [x: {require: [exec#anything]}]}]", "[exec: [inner: ]]", ""},
		{"to nothing, before that", "[{exec: [x: {require: [exec#anything]}]}, {apply: ['{{ Data.x }}': ]}]", "[exec: [inner: ]]",
			"site.yaml:1:41: no resource is called exec#anything"},
		{"to what a template writes", "[{apply: [j.yaml: ]}, {exec: [x: {require: [exec#anything]}]}]", "[exec: [inner: ]]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, text := load(t, "-- site.yaml --\nccm: {resources: "+c.site+"}\n-- a.yaml --\nccm: {resources: "+c.inner+"}"+b+
				"-- c.yaml --\nccm: {resources: [exec: [y: {require: [exec#inner]}]]}\n-- j.yaml --\nccm: {resources_jet_file: x.jet}\n-- x.jet --\n[]\n")
			require.Equal(t, c.want, text)
		})
	}
}

// chain is files that apply each other: a number of levels below site.yaml.
func chain(levels int) string {
	archive := "-- site.yaml --\nccm: {resources: [apply: [n1.yaml: ]]}\n"
	for i := 1; i < levels; i++ {
		archive += fmt.Sprintf("-- n%d.yaml --\nccm: {resources: [apply: [n%d.yaml: ]]}\n", i, i+1)
	}
	return archive + fmt.Sprintf("-- n%d.yaml --\n", levels) + child
}

func TestNestingEnds(t *testing.T) {
	_, text := load(t, chain(10))
	require.Empty(t, text)
	_, text = load(t, chain(11))
	require.Equal(t, "n10.yaml:1:27: maximum apply depth of 10 exceeded: site.yaml → n1.yaml → n2.yaml → n3.yaml → n4.yaml → n5.yaml → n6.yaml → n7.yaml → n8.yaml → n9.yaml → n10.yaml → n11.yaml", text)

	// A manifest that was read already, at another depth.
	_, text = load(t, strings.Replace(chain(10), "[apply: [n1.yaml: ]]", "[{apply: [n1.yaml: ]}, {apply: [first.yaml: ]}]", 1)+
		"-- first.yaml --\nccm: {resources: [apply: [n1.yaml: ]]}\n")
	require.Equal(t, "site.yaml:1:50: maximum apply depth of 10 exceeded: site.yaml → first.yaml → n1.yaml → n2.yaml → n3.yaml → n4.yaml → n5.yaml → n6.yaml → n7.yaml → n8.yaml → n9.yaml → n10.yaml", text)

	// Each applies the next one ten times: 10^10 resources.
	archive := chain(10)
	for i := 2; i <= 10; i++ {
		one := fmt.Sprintf("{apply: [n%d.yaml: ]}", i)
		archive = strings.Replace(archive, fmt.Sprintf("[apply: [n%d.yaml: ]]", i), "["+strings.Repeat(one+", ", 9)+one+"]", 1)
	}
	_, text = load(t, archive)
	require.Equal(t, "site.yaml:1:27: the play and the manifests that it applies have more than 100000 resources", text)

	archive = "-- site.yaml --\nccm:\n  resources:\n    - apply:\n"
	for i := range maxManifests + 1 {
		archive += fmt.Sprintf("        - n%d.yaml:\n", i)
	}
	for i := range maxManifests + 1 {
		archive += fmt.Sprintf("-- n%d.yaml --\n", i) + child
	}
	_, text = load(t, archive)
	require.Equal(t, "site.yaml:1004:11: more than 1000 manifests are applied", text)
}

func TestNestedPlay(t *testing.T) {
	plays, text := load(t, `
-- site.yaml --
ccm:
  resources:
    - exec: [first: ]
    - apply:
        - web: {tags: [web]}
        - web: {alias: again, control: {if: "Facts.x == 1"}}
-- web/manifest.yaml --
data: {port: 80}
vars_files: [more.yaml]
ccm:
  fail_on_error: true
  pre_message: hello
  resources:
    - apply: [../shared/base.yaml: ]
    - exec: [second: {tags: [deep]}]
-- web/more.yaml --
more: 1
-- shared/base.yaml --
ccm: {resources: [exec: [third: ]]}
`)
	require.Empty(t, text)
	var order []string
	manifest.Walk(plays[0].Resources, func(r *manifest.Resource, depth int) {
		order = append(order, strings.Repeat(" ", depth)+r.Type.Name+"#"+r.Name.Node.Text)
	})
	require.Equal(t, []string{
		"exec#first",
		"  exec#third", " apply#../shared/base.yaml", " exec#second", "apply#web",
		"  exec#third", " apply#../shared/base.yaml", " exec#second", "apply#web",
	}, order)
	web, again := plays[0].Resources[1].Child, plays[0].Resources[2].Child
	require.True(t, web.FailOnError)
	require.Equal(t, "hello", web.Pre.Node.Text)
	require.Equal(t, "web", filepath.Base(web.Folder))
	require.Equal(t, "shared", filepath.Base(web.Resources[0].Child.Folder))
	require.True(t, web.Resources[1].Unconditional())
	require.False(t, again.Resources[1].Unconditional(), "not every host applies it")
	require.False(t, again.Resources[0].Child.Resources[0].Unconditional())

	selected := func(s manifest.Selection) string {
		plays, text := load(t, "-- site.yaml --\nccm: {resources: [{exec: [x: ]}, {apply: [{a.yaml: {tags: [web]}}, {b.yaml: }]}]}\n"+
			"-- a.yaml --\nccm: {resources: [{exec: [a1: ]}, {exec: [a2: {tags: [deep]}]}]}\n-- b.yaml --\nccm: {resources: [{exec: [b1: ]}, {exec: [b2: {tags: [deep]}]}]}\n")
		require.Empty(t, text)
		_, err := s.Select(plays)
		require.NoError(t, err)
		var names []string
		manifest.Walk(plays[0].Resources, func(r *manifest.Resource, _ int) {
			name := r.Name.Node.Text
			if r.OnlyWithin {
				name += "~"
			}
			if !r.Unselected {
				names = append(names, name)
			}
		})
		return strings.Join(names, " ")
	}
	for _, c := range []struct {
		s    manifest.Selection
		want string
	}{
		{manifest.Selection{}, "x a1 a2 a.yaml b1 b2 b.yaml"},
		{manifest.Selection{Tags: []string{"web"}}, "a1 a2 a.yaml"},
		{manifest.Selection{Tags: []string{"deep"}}, "a2 a.yaml~ b2 b.yaml~"},
		{manifest.Selection{Skip: []string{"web"}}, "x b1 b2 b.yaml"},
		{manifest.Selection{Skip: []string{"deep"}}, "x a1 a.yaml b1 b.yaml"},
		{manifest.Selection{Tags: []string{"web"}, Skip: []string{"deep"}}, "a1 a.yaml"},
		{manifest.Selection{StartAt: "exec#a2"}, "a2 a.yaml b1 b2 b.yaml"},
		{manifest.Selection{StartAt: "apply#b.yaml"}, "b1 b2 b.yaml"},
		{manifest.Selection{StartAt: "exec#b1", Tags: []string{"deep"}}, "b2 b.yaml~"},
	} {
		require.Equal(t, c.want, selected(c.s), "%+v", c.s)
	}
	_, err := manifest.Selection{Tags: []string{"depe"}}.Select(plays)
	require.EqualError(t, err, `--tags "depe": no play or resource has this tag; did you mean "deep"?`)
	_, err = manifest.Selection{StartAt: "exec#secnod"}.Select(plays)
	require.EqualError(t, err, `--start-at "exec#secnod": no resource is called that; did you mean exec#second?`)
}

// packed writes files into an archive and returns it with its checksum.
func packed(t *testing.T, files map[string]string) ([]byte, string) {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(sum[:])
}

// loadArchived reads a manifest with archives; errors are without the folder.
func loadArchived(t *testing.T, dir, site string, archives *source.Unpacker) ([]*manifest.Play, string) {
	path := filepath.Join(dir, "site.yaml")
	require.NoError(t, os.WriteFile(path, []byte(site), 0o600))
	archives.Temp = t.TempDir()
	t.Cleanup(func() {
		require.NoError(t, archives.Close())
		left, err := os.ReadDir(archives.Temp)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	plays, err := Files(t.Context(), []string{path}, builtin.Types(), WithArchives(archives))
	if err != nil {
		return nil, strings.ReplaceAll(err.Error(), dir+"/", "")
	}
	return plays, ""
}

func TestNestedArchives(t *testing.T) {
	dir := t.TempDir()
	web, sum := packed(t, map[string]string{
		"manifest.yaml":     "vars_files: [vars.yaml]\nccm: {resources: [apply: [sub: ]]}\n",
		"vars.yaml":         "a: 1\n",
		"sub/manifest.yaml": child,
	})
	bad, badSum := packed(t, map[string]string{"manifest.yaml": "ccm: {resources: [exec: [x: {commnad: y}]]}\n"})
	out, _ := packed(t, map[string]string{"manifest.yaml": "vars_files: [../x.yaml]\nccm: {resources: [{apply: [/etc/x.yaml: ]}, {apply: [../../y: ]}]}\n"})
	none, _ := packed(t, map[string]string{"other.yaml": child})
	for name, content := range map[string][]byte{"web.tar.gz": web, "bad.tgz": bad, "out.tgz": out, "none.tgz": none, "no.tgz": []byte("hello")} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	asked := []string{}
	mux := http.NewServeMux()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked = append(asked, r.URL.Path+" "+user+":"+password)
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked = append(asked, "other "+r.URL.Path+" "+user+":"+password)
		w.Write(web)
	}))
	defer other.Close()
	mux.HandleFunc("/web.tar.gz", func(w http.ResponseWriter, _ *http.Request) { w.Write(web) })
	mux.HandleFunc("/bad.tar.gz", func(w http.ResponseWriter, _ *http.Request) { w.Write(bad) })
	mux.Handle("/moved.tgz", http.RedirectHandler("/web.tar.gz", http.StatusFound))
	mux.Handle("/away.tgz", http.RedirectHandler(other.URL+"/web.tar.gz", http.StatusFound))
	mux.HandleFunc("/large.tgz", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2<<20)) })
	with := strings.Replace(server.URL, "://", "://ann:hunter2@", 1)
	const changed = "\n  hint: the file has changed: inspect it before you update the checksum"
	zero := strings.Repeat("0", 64)
	for _, c := range []struct{ name, apply, asked, want string }{
		{"a local one", "web.tar.gz: ", "", ""},
		{"with its checksum", "web.tar.gz: {checksum: " + strings.ToUpper(sum) + "}", "", ""},
		{"with another checksum", "web.tar.gz: {checksum: '" + zero + "'}", "", "site.yaml:1:27: web.tar.gz has the checksum " + sum + ", not " + zero + changed},
		{"an error in it", "bad.tgz: ", "", "bad.tgz/manifest.yaml:1:30: type exec has no property \"commnad\"\n  hint: did you mean \"command\"?"},
		{"no archive", "no.tgz: ", "", "site.yaml:1:27: no.tgz: unexpected EOF"},
		{"no manifest in it", "none.tgz: ", "", "site.yaml:1:27: none.tgz does not contain manifest.yaml"},
		{"one that leads out of it", "out.tgz: ", "",
			"out.tgz/manifest.yaml:1:14: \"../x.yaml\" is outside the archive out.tgz\n  hint: an archive must contain all files that its manifests use\n" +
				"out.tgz/manifest.yaml:2:28: \"/etc/x.yaml\" is outside the archive out.tgz\n  hint: an archive must contain all files that its manifests use\n" +
				"out.tgz/manifest.yaml:2:54: \"../../y\" is outside the archive out.tgz\n  hint: an archive must contain all files that its manifests use"},
		{"a download", "'" + server.URL + "/web.tar.gz': {checksum: " + sum + "}", "/web.tar.gz :", ""},
		{"with a password", "'" + with + "/web.tar.gz?token=hunter2': {checksum: " + sum + "}", "/web.tar.gz ann:hunter2", ""},
		{"another content", "'" + with + "/bad.tar.gz': {checksum: " + sum + "}", "/bad.tar.gz ann:hunter2",
			"site.yaml:1:27: " + server.URL + "/bad.tar.gz has the checksum " + badSum + ", not " + sum + changed},
		{"a redirect", "'" + with + "/moved.tgz': {checksum: " + sum + "}", "/moved.tgz ann:hunter2, /web.tar.gz ann:hunter2", ""},
		{"a redirect to another server", "'" + with + "/away.tgz': {checksum: " + sum + "}", "/away.tgz ann:hunter2, other /web.tar.gz :", ""},
		{"too large", "'" + with + "/large.tgz': {checksum: " + sum + "}", "/large.tgz ann:hunter2", "site.yaml:1:27: reading " + server.URL + "/large.tgz: larger than 1 MiB"},
		{"not there", "'" + with + "/none.tgz?token=hunter2': {checksum: " + sum + "}", "/none.tgz ann:hunter2", "site.yaml:1:27: reading " + server.URL + "/none.tgz?…: the answer is 404 Not Found"},
		{"applied twice", "'" + server.URL + "/web.tar.gz': {checksum: " + sum + "}}, {'" + server.URL + "/web.tar.gz': {checksum: " + sum + "}", "/web.tar.gz :", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked = nil
			plays, text := loadArchived(t, dir, "ccm: {resources: [apply: [{"+c.apply+"}]]}\n", &source.Unpacker{MaxDownload: 1 << 20})
			require.Equal(t, c.want, strings.NewReplacer("site.yaml:1:28", "site.yaml:1:27").Replace(text))
			require.Equal(t, c.asked, strings.Join(asked, ", "))
			if c.want != "" {
				return
			}
			apply := plays[0].Resources[0]
			require.NotContains(t, apply.Name.Node.Text, "hunter2")
			require.Equal(t, "inner", apply.Child.Resources[0].Child.Resources[0].Name.Node.Text)
			data, err := apply.Child.Data.Resolve(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, map[string]any{"a": int64(1)}, data)
		})
	}
}

// FuzzNested reads any text as a nested manifest: there is a play that can be
// walked, or an error.
func FuzzNested(f *testing.F) {
	for _, text := range []string{
		child, "", "---\n---\n" + child, "- " + child, "hosts: x\n" + child, "data: {a: 1}\nccm: {resources_jet_file: x.jet}\n",
		"ccm: {resources: [apply: [site.yaml: ]]}\n", "ccm: {resources: [apply: [n.yaml: {data: {a: '{{ Data.x }}'}, allow_apply: false}]]}\n",
		"ccm: {resources: [apply: {name: 'https://u:p@h/x.tgz', checksum: " + strings.Repeat("0", 64) + "}]}\n",
		"vars_files: [n.yaml]\nccm: {resources: [exec: [a: {require: [exec#before, exec#a]}]]}\n",
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	site := filepath.Join(dir, "site.yaml")
	require.NoError(f, os.WriteFile(site, []byte("ccm: {resources: [{exec: [before: ]}, {apply: [{n.yaml: }, {n.yaml: {alias: x, tags: [y]}}]}]}\n"), 0o600))
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "n.yaml"), []byte(text), 0o600))
		plays, err := Files(t.Context(), []string{site}, builtin.Types())
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		inner := 0
		manifest.Walk(plays[0].Resources, func(r *manifest.Resource, depth int) {
			if depth == 1 {
				inner++
			}
		})
		require.Zero(t, inner%2, "it is applied twice")
		_, err = manifest.Selection{Tags: []string{"y"}}.Select(plays)
		require.NoError(t, err)
	})
}
