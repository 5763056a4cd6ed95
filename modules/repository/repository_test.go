package repository

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/edit"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
)

const key = armourBegins + "\n\nmDMEZUAAABYJKwYBBAHaRw8BAQdA\n=3/sG\n" + armourEnds + "\n"

var jsonKey = strings.ReplaceAll(key, "\n", `\n`)

func keyJSON() string {
	return `{"text":"` + jsonKey + `"}`
}

var dirs = []modtest.Node{
	{Path: "etc", Dir: true}, {Path: "etc/apt", Dir: true}, {Path: "etc/apt/sources.list.d", Dir: true}, {Path: "etc/apt/preferences.d", Dir: true},
	{Path: "etc/yum.repos.d", Dir: true}, {Path: "etc/pki", Dir: true}, {Path: "etc/pki/rpm-gpg", Dir: true},
}

func with(nodes ...modtest.Node) []modtest.Node {
	return append(append([]modtest.Node{}, dirs...), nodes...)
}

const (
	ofApt = `"root":"$ROOT","provider":"apt","name":"x","uris":["https://deb.example.net/d"],"suites":["bookworm"],"components":["main"],"refresh":false`
	ofDnf = `"root":"$ROOT","provider":"dnf","name":"x","uris":["https://a.example.net/r","https://b.example.net/r"],"refresh":false`

	aptFile = "Types: deb\nURIs: https://deb.example.net/d\nSuites: bookworm\nComponents: main\n"
	dnfFile = "[x]\nname=x\nbaseurl=https://a.example.net/r\n    https://b.example.net/r\nenabled=1\ngpgcheck=1\n"
)

func TestConverges(t *testing.T) {
	digest := "sha256:" + modules.TextContent(key).SHA256()
	other := modtest.Node{Path: "etc/yum.repos.d/x.repo", Text: "[a]\nname=a\nbaseurl=file:/a\n\n[x]\n# ours\nname = x\nbaseurl = https://a.example.net/r https://b.example.net/r\nenabled = 1\ngpgcheck = 1\n\n[b]\nname=b\n"}
	modtest.Converges(t, modtest.Rooted(Type(pkg.Repositories{})), []modtest.Fixture{
		{Name: "apt, new", Tree: dirs, Properties: `{` + ofApt + `}`, Action: "added the repository", Changes: edit.Ensured(absent, present)},
		{Name: "apt, with a key and a priority", Tree: dirs, Stays: "etc/apt/keyrings", Properties: `{` + ofApt + `,"key":` + keyJSON() + `,"priority":600}`,
			Action:  "added the repository and set its priority and installed its key",
			Changes: []modules.Change{modtest.Change("key", absent, digest), modtest.Change("priority", absent, "600"), modtest.Change("ensure", absent, present)}},
		{Name: "apt, as it shall be, in other words", Tree: with(modtest.Node{Path: "etc/apt/sources.list.d/x.sources", Text: "# ours\nsuites: bookworm\nURIs:\n https://deb.example.net/d\ntypes:  deb\nComponents: main\n"}), Properties: `{` + ofApt + `}`},
		{Name: "apt, elsewhere", Tree: with(modtest.Node{Path: "etc/apt/sources.list.d/x.sources", Text: strings.Replace(aptFile, "bookworm", "bullseye", 1) + "Trusted: yes\n"}), Properties: `{` + ofApt + `}`,
			Action: "changed the repository", Changes: []modules.Change{modtest.Change("Suites", "bullseye", "bookworm"), modtest.Change("Trusted", "yes", absent)}},
		{Name: "apt, two of them", Tree: with(modtest.Node{Path: "etc/apt/sources.list.d/x.sources", Text: aptFile + "\n" + aptFile}), Properties: `{` + ofApt + `}`,
			Action: "changed the repository", Changes: []modules.Change{
				modtest.Change("Types", "deb and deb", "deb"), modtest.Change("URIs", "https://deb.example.net/d and https://deb.example.net/d", "https://deb.example.net/d"),
				modtest.Change("Suites", "bookworm and bookworm", "bookworm"), modtest.Change("Components", "main and main", "main")}},
		{Name: "apt, absent", Tree: with(modtest.Node{Path: "etc/apt/sources.list.d/x.sources", Text: aptFile}, modtest.Node{Path: "etc/apt/preferences.d/x.pref", Text: "# priority of the repository x\nPackage: *\n"},
			modtest.Node{Path: "etc/apt/keyrings", Dir: true}, modtest.Node{Path: "etc/apt/keyrings/x.asc", Text: key}), Properties: `{"root":"$ROOT","provider":"apt","name":"x","ensure":"absent"}`,
			Action: "removed the repository and removed its priority and removed its key", Changes: []modules.Change{modtest.Change("key", digest, absent), modtest.Change("priority", present, absent), modtest.Change("ensure", present, absent)}},
		{Name: "apt, absent and not there", Tree: with(modtest.Node{Path: "etc/apt/preferences.d/x.pref", Text: "Package: *\n"}), Properties: `{"root":"$ROOT","provider":"apt","name":"x","ensure":"absent"}`},
		{Name: "dnf, new", Tree: dirs, Properties: `{` + ofDnf + `}`, Action: "added the repository", Changes: edit.Ensured(absent, present)},
		{Name: "dnf, as it shall be, among others", Tree: with(other), Properties: `{` + ofDnf + `}`},
		{Name: "dnf, another priority, among others", Tree: with(other), Properties: `{` + ofDnf + `,"priority":10,"key":` + keyJSON() + `}`,
			Action: "changed the repository and installed its key", Changes: []modules.Change{modtest.Change("key", absent, digest), modtest.Change("gpgkey", absent, "file:///etc/pki/rpm-gpg/x.asc"), modtest.Change("priority", absent, "10")}},
		{Name: "dnf, absent, among others", Tree: with(other), Properties: `{"root":"$ROOT","provider":"dnf","name":"x","ensure":"absent"}`, Action: "removed the repository", Changes: edit.Ensured(present, absent)},
	}...)
}

// TestText compares the written text with the format of the managers.
func TestText(t *testing.T) {
	no := false
	for _, test := range []struct {
		name, provider, want string
		r                    Repository
	}{
		{"apt", "apt", aptFile, Repository{URIs: []string{"https://deb.example.net/d"}, Suites: []string{"bookworm"}, Components: []string{"main"}}},
		{"apt, all of it", "apt", "Types: deb deb-src\nURIs: file:/a\nSuites: ./\nArchitectures: amd64 arm64\nSigned-By: /a.gpg\nEnabled: no\nX-Repolib-Name: an x\nLanguages: none\n",
			Repository{URIs: []string{"file:/a"}, Suites: []string{"./"}, Types: []string{"deb", "deb-src"}, Architectures: []string{"amd64", "arm64"}, SignedBy: "/a.gpg", Enabled: &no, Description: "an x", Options: map[string]string{"Languages": "none"}}},
		{"apt, not signed", "apt", "Types: deb\nURIs: file:/a\nSuites: ./\nTrusted: yes\n", Repository{URIs: []string{"file:/a"}, Suites: []string{"./"}, Gpgcheck: &no}},
		{"dnf", "dnf", dnfFile, Repository{URIs: []string{"https://a.example.net/r", "https://b.example.net/r"}}},
		{"dnf, all of it", "dnf", "[x]\nname=an x\nmetalink=https://m\nenabled=0\ngpgcheck=0\npriority=5\nexclude=kernel*\nsslverify=1\n",
			Repository{Description: "an x", Metalink: "https://m", Enabled: &no, Gpgcheck: &no, Priority: 5, Options: map[string]string{"sslverify": "1", "exclude": "kernel*"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := test.r
			r.Name = "x"
			text := edit.Parse("")
			_, err := definition{&r, test.provider}.define(text)
			require.NoError(t, err)
			require.Equal(t, test.want, text.String())
			done, err := definition{&r, test.provider}.define(text)
			require.NoError(t, err)
			require.Equal(t, edit.Done{}, done)
		})
	}
}

func TestPin(t *testing.T) {
	r := Repository{Name: "x", Priority: 600, URIs: []string{"https://a.example.net/1", "https://a.example.net/2", "file:/srv"}}
	text := edit.Parse("")
	_, err := definition{&r, apt}.pin(text)
	require.NoError(t, err)
	require.Equal(t, "# priority of the repository x\nPackage: *\nPin: origin \"a.example.net\"\nPin-Priority: 600\n\nPackage: *\nPin: origin \"\"\nPin-Priority: 600\n", text.String())
	r.Priority = 0
	done, err := definition{&r, apt}.pin(text)
	require.NoError(t, err)
	require.True(t, done.Remove)
}

func TestValidate(t *testing.T) {
	no := false
	base := func(change func(*Repository)) Repository {
		r := Repository{Name: "x", URIs: []string{"https://deb.example.net/d"}, Suites: []string{"s"}, Components: []string{"main"}}
		change(&r)
		return r
	}
	const sum = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	modtest.Validates(t, []modtest.Verdict[Repository]{
		{Name: "right", Of: base(func(*Repository) {})},
		{Name: "absent", Of: base(func(r *Repository) { *r = Repository{Name: "x", Ensure: absent} })},
		{Name: "a name", Of: base(func(r *Repository) { r.Name = "a b" }), Err: `name: "a b" may have only letters, digits, dots, dashes, colons and underscores, and must begin with a letter or digit`},
		{Name: "up", Of: base(func(r *Repository) { r.Name = "../x" }), Err: `name: "../x" may have only letters, digits, dots, dashes, colons and underscores, and must begin with a letter or digit`},
		{Name: "nowhere", Of: base(func(r *Repository) { r.URIs, r.Suites, r.Components = nil, nil, nil }), Err: `uris: "uris" cannot be empty (say where the repository is: uris: [https://…], or "mirrorlist", or "metalink")`},
		{Name: "twice", Of: base(func(r *Repository) { r.Metalink = "https://m" }), Err: "uris: 'uris', 'mirrorlist' and 'metalink' are mutually exclusive"},
		{Name: "two lines", Of: base(func(r *Repository) { r.URIs = []string{"https://a\nTrusted: yes"} }), Err: "uris[0]: this is not a URI (write one such as https://deb.example.net/debian or file:/srv/repo)"},
		{Name: "a password", Of: base(func(r *Repository) { r.URIs = []string{"https://u:p@a/"} }), Err: "uris[0]: all users of the host could read a user and a password here (apt has /etc/apt/auth.conf.d for them, dnf a file of mode 0600)"},
		{Name: "no suites", Of: base(func(r *Repository) { r.Suites = nil }), Err: `suites: for apt, "suites" cannot be empty (write suites: [bookworm] with "components", or suites: [./] for a flat repository)`},
		{Name: "no components", Of: base(func(r *Repository) { r.Components = nil }), Err: `components: "components" cannot be empty (write components: [main])`},
		{Name: "components of a path", Of: base(func(r *Repository) { r.Suites = []string{"./"} }), Err: `components: a suite that ends with a slash has no "components"`},
		{Name: "suites of dnf", Of: base(func(r *Repository) { r.Provider = "dnf" }), Err: `suites: dnf has no "suites"`},
		{Name: "types", Of: base(func(r *Repository) { r.Types = []string{"rpm"} }), Err: `types[0]: "rpm" is neither deb nor deb-src`},
		{Name: "a setting that is a property", Of: base(func(r *Repository) { r.Options = map[string]string{"Signed-By": "/k"} }), Err: "options.Signed-By: Signed-By has a property of its own (write signed_by)"},
		{Name: "a setting of two lines", Of: base(func(r *Repository) { r.Options = map[string]string{"Languages": "a\nb"} }), Err: `options.Languages: "options.Languages" must be one line, without NUL bytes`},
		{Name: "an armoured key", Of: base(func(r *Repository) { r.SignedBy = key })},
		{Name: "half a key", Of: base(func(r *Repository) { r.SignedBy = key[:60] }), Err: "signed_by: the armour of the key is not whole: it begins with " + armourBegins + " and ends with " + armourEnds},
		{Name: "no key", Of: base(func(r *Repository) { r.SignedBy = "0xABCD" }), Err: "signed_by: this is not a public key (write an armoured key, https://…, or an absolute path)"},
		{Name: "not pinned", Of: base(func(r *Repository) { r.SignedBy = "https://k/a.asc" }), Err: `signed_by: a key that is downloaded needs a checksum (write checksum: "sha256:…", as sha256sum prints it, once you have compared its fingerprint)`},
		{Name: "pinned", Of: base(func(r *Repository) { r.SignedBy, r.Checksum = "https://k/a.asc", sum })},
		{Name: "a key that nobody looks at", Of: base(func(r *Repository) { r.SignedBy, r.Gpgcheck = key, &no }), Err: "signed_by: with 'gpgcheck: false' nothing is held against this key"},
		{Name: "a checksum of nothing", Of: base(func(r *Repository) { r.Checksum = sum }), Err: "checksum: 'checksum' is about a key that is at a URL"},
	})
}

// TestDownloadedKey checks that a downloaded key, binary or armoured, matches its checksum.
func TestDownloadedKey(t *testing.T) {
	binary, err := dearmour(key)
	require.NoError(t, err)
	for name, bytes := range map[string][]byte{"armoured": []byte(key), "binary": binary} {
		t.Run(name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, dirs)
			no := false
			r := &Repository{Name: "x", managers: pkg.Repositories{}, Provider: "apt", URIs: []string{"file:/a"}, Suites: []string{"./"}, Refresh: &no, Checksum: "sha256:" + digestOf(bytes), Key: modules.PromisedContent(strings.Repeat("a", 64))}
			require.NoError(t, r.Validate())
			h := modtest.RootedHost(root, modtest.Host())
			plan, err := r.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			r.Key = modules.BytesContent(bytes) // received key
			do := plan.Steps.(steps)
			do.key.content = r.Key
			require.NoError(t, r.Apply(t.Context(), h, plan))
			text, err := os.ReadFile(root + "/etc/apt/keyrings/x.asc")
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(string(text), armourBegins))
			r.Key = modules.PromisedContent(strings.Repeat("b", 64))
			plan, err = r.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, modules.Plan{}, plan)
			require.NoError(t, os.WriteFile(root+"/etc/apt/keyrings/x.asc", []byte(key+"\n"), 0o644))
			if name == "armoured" {
				plan, err = r.Check(t.Context(), modules.ReadOnly(h))
				require.NoError(t, err)
				require.Equal(t, "installed its key", plan.Action)
			}
		})
	}
	require.Equal(t, key, string(armour(binary)))
	require.Equal(t, uint32(0x21cf02), crc24([]byte("123456789")), "as catalogues of such sums have it")
	r := &Repository{Checksum: "sha256:" + strings.Repeat("0", 64)}
	_, err = r.bytes(t.Context(), modtest.Host(), &keySteps{content: modules.TextContent(key)})
	require.EqualError(t, err, "the checksum of the key is sha256:"+digestOf([]byte(key))+`, not the value of the property "checksum" (if you trust this key, change "checksum")`)
}

// TestPredictsPackages runs a check in which a package comes from a repository that does not exist yet.
func TestPredictsPackages(t *testing.T) {
	if pkgs, err := (pkg.Repositories{}).By(modtest.Host(), ""); err != nil || pkgs != "apt" {
		needs.Missing(t, "apt")
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type(pkg.Repositories{})), pkg.Type()}, modtest.Scenario{
		Tree: dirs,
		Steps: []modtest.Step{
			{Type: "repository", Properties: `{` + ofApt + `,"name":"y"}`},
			{Type: "repository", Properties: `{` + ofApt + `,"name":"y"}`},
			{Type: "package", Properties: `{"name":"dpkg"}`},
			{Type: "package", Properties: `{"name":"ccm-push-no-such-package"}`},
		},
		Want: []string{"changed", "stable", "stable", "changed unknown"},
	})
	r := &Repository{Name: "x", managers: pkg.Repositories{}, URIs: []string{"file:/a"}}
	require.NoError(t, r.Validate())
	_, err := r.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.EqualError(t, err, `this host has apt, for which "suites" is needed (write suites: [bookworm] with "components", or suites: [./])`)
}

func TestDescribe(t *testing.T) {
	modtest.Describes(t, modtest.OnTree(t, with(modtest.Node{Path: "etc/yum.repos.d/x.repo", Text: dnfFile})), &Repository{Name: "x", managers: pkg.Repositories{}, Provider: "dnf"}, `{"ensure":"present","name":"x","path":"/etc/yum.repos.d/x.repo","provider":"dnf",
		"settings":{"name":"x","baseurl":"https://a.example.net/r https://b.example.net/r","enabled":"1","gpgcheck":"1"}}`)
}
