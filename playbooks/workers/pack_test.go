package workers

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/inputs"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// held runs the play of a site by a worker and returns the files that the worker had, by their path below the site's folder.
func (s *site) held(set ...func(*Coordinator)) (files map[string]string, listed []string, summary events.Summary, said string) {
	t := s.t
	q := connect(t, serve(t, t.TempDir()).ClientURL())
	var its *Worker
	told := s.work(q, "worker", "", func(w *Worker) { its = w })
	files = map[string]string{}
	var shown []string
	var mu sync.Mutex
	got := &recorded{hook: func(e events.Event) {
		if _, is := e.(events.Result); !is {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all, err := Held(its.Temp)
		require.NoError(t, err)
		shown = append(shown, all...)
		roots, err := filepath.Glob(filepath.Join(its.Temp, folderPrefix+"*", "files"))
		require.NoError(t, err)
		for _, root := range roots {
			_ = filepath.WalkDir(filepath.Join(root, s.dir), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return nil
				}
				text, _ := os.ReadFile(path)
				name, _ := filepath.Rel(filepath.Join(root, s.dir), path)
				files[name] = string(text)
				return nil
			})
		}
	}}
	c, warned := s.coordinator(q, s.runner(s.inventory(nil), got))
	c.List = func(line string) { listed = append(listed, line) }
	for _, one := range set {
		one(c)
	}
	summary = s.run(c)
	for name := range files {
		require.True(t, slices.ContainsFunc(shown, func(path string) bool { return strings.HasSuffix(path, "/"+name) }), "worker --show: %s", name)
	}
	return files, listed, summary, warned.all() + told.all() + strings.Join(got.lines(s), "\n")
}

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Bytes()
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// foreignKey returns an RSA key, and the key with a passphrase. To make both takes a third of a second.
var foreignKey = sync.OnceValues(func() (*rsa.PrivateKey, *pem.Block) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("secret"))
	if err != nil {
		panic(err)
	}
	return private, locked
})

// lockedAuthority returns the key of the authority with a passphrase. It is encrypted once: this takes a tenth of a second.
func (s *site) lockedAuthority() string {
	if s.locked == "" {
		text, err := os.ReadFile(filepath.Join(s.dir, "authority"))
		require.NoError(s.t, err)
		raw, err := ssh.ParseRawPrivateKey(text)
		require.NoError(s.t, err)
		block, err := ssh.MarshalPrivateKeyWithPassphrase(raw, "", []byte("secret"))
		require.NoError(s.t, err)
		s.locked = string(pem.EncodeToMemory(block))
	}
	return s.locked
}

// secretFiles writes files into the folder of a play that belong to a person, with private keys in many forms: copies of the authority's, the
// coordinator's and a foreign key.
func (s *site) secretFiles(prefix string) map[string]string {
	t := s.t
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		require.NoError(t, err)
		return string(text)
	}
	authority, coordinator := read("authority"), read("coordinator")
	private, locked := foreignKey()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	nkey, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := nkey.Seed()
	require.NoError(t, err)
	var tarred, zipped bytes.Buffer
	tw := tar.NewWriter(&tarred)
	require.NoError(t, tw.WriteHeader(&tar.Header{Name: "k", Size: int64(len(authority)), Mode: 0o600}))
	_, _ = tw.Write([]byte(authority))
	require.NoError(t, tw.Close())
	zw := zip.NewWriter(&zipped)
	one, err := zw.Create("k")
	require.NoError(t, err)
	_, _ = one.Write([]byte(coordinator))
	require.NoError(t, zw.Close())
	escaped, err := json.Marshal(map[string]string{"key": coordinator})
	require.NoError(t, err)
	wide := []byte{0xff, 0xfe}
	for _, b := range []byte(authority) {
		wide = append(wide, b, 0)
	}
	pkcs1 := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
	files := map[string]string{
		".netrc": "x", ".aws/credentials": "x", ".git-credentials": "x", ".bash_history": "x", ".gnupg/secring": "x", ".kube/config": "x", ".config/gcloud/creds": "x",
		".vault_pass": "x", ".pgpass": "x", ".npmrc": "x", ".ssh/id_rsa": "x", ".env": "SECRET=x", ".hidden": "x", ".terraform.d/credentials.tfrc.json": "x",
		"id_copy.pem": coordinator, "authority-copy": authority, "authority.gz": string(gzipped([]byte(authority))), "indented.yaml": "key: |\n" + indented(authority),
		"tarred.tgz": string(gzipped(tarred.Bytes())), "zipped.zip": zipped.String(), "base64.txt": base64.StdEncoding.EncodeToString([]byte(authority)),
		"base64-of-gzip.yaml": "k: !!binary |\n" + indented(base64.StdEncoding.EncodeToString(gzipped([]byte(coordinator)))),
		"escaped.json":        string(escaped), "wide.txt": string(wide), "pkcs8.der": string(pkcs8), "pkcs1.pem": pkcs1, "windows.pem": strings.ReplaceAll(pkcs1, "\n", "\r\n"),
		"locked-authority": string(s.lockedAuthority()), "locked": string(pem.EncodeToMemory(locked)), "age.txt": "# a key\n" + identity.String() + "\n", "user.nk": string(seed), "user.creds": "-----BEGIN USER NKEY SEED-----\n" + string(seed) + "\n------END",
		"key.ppk": "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n", "pgp.asc": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ==\n", "cut.pem": "-----BEGIN PRIVATE KEY-----\nMIIE",
		"wg.conf": "[Interface]\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n", "jwk.json": `{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qY"}`,
		"notes.txt": "unrelated", "hosts2.ini": "unrelated",
	}
	for name, text := range files {
		s.write(filepath.Join(prefix, name), text)
	}
	return files
}

// TestOnlyWhatThePlayNamesGoes has secrets of all kinds lie in the folder of a play, and in folders from which an expression chooses.
func TestOnlyWhatThePlayNamesGoes(t *testing.T) {
	s := newSite(t, `
hosts: all
vars_files: [vars.yaml]
data: {which: named-by-data.conf}
ccm:
  resources:
    - file:
        - "{{ Data.home }}/a": {content: "{{ file('a.txt') }}{{ template('b.templ') }}", mode: "0600"}
        - "{{ Data.home }}/b": {source: "{{ Facts.host.info.os == 'linux' ? 'linux.conf' : 'other.conf' }}", mode: "0600"}
        - "{{ Data.home }}/c": {source: "conf/{{ Host.name }}.conf", mode: "0600"}
        - "{{ Data.home }}/d": {source: "{{ Data.which }}", mode: "0600"}
        - "{{ Data.home }}/e": {source: .dot.conf, mode: "0600"}
        - "{{ Data.home }}/f": {content: "{{ jet('c.jet') }}", mode: "0600"}
        - "{{ Data.home }}/g": {source: shop.pem, mode: "0600"}
      `+"\n", "web1")
	s.write("vars.yaml", "x: 1\n")
	for name, text := range map[string]string{
		"a.txt": "a", "b.templ": "{{ file('from-template.txt') }}", "from-template.txt": "t", "linux.conf": "l", "other.conf": "o", "conf/web1.conf": "1", "conf/web2.conf": "2",
		"named-by-data.conf": "d", ".dot.conf": "dot", "c.jet": `[[ include "part.jet" ]][[ file("from-jet.txt") ]]`, "part.jet": "p", "from-jet.txt": "j", "files/x": "x", "templates/y": "y",
		"roles/other/manifest.yaml": "ccm: {}", "group_vars/all.yaml": "password: secret",
	} {
		s.write(name, text)
	}
	sshtest.WriteKey(t, filepath.Join(s.dir, "shop.pem"), "")
	secret := s.secretFiles("")
	s.secretFiles("conf")
	s.secretFiles("files")
	var read inputs.Files
	files, listed, summary, said := s.held(func(c *Coordinator) { c.Runner.Options.Catalog.Note = read.Note })
	require.Equal(t, 1, summary.Totals.Hosts.OK, said)
	went := slices.Sorted(maps.Keys(files))
	require.Equal(t, []string{
		".dot.conf", "a.txt", "b.templ", "c.jet", "conf/hosts2.ini", "conf/notes.txt", "conf/web1.conf", "conf/web2.conf", "files/hosts2.ini", "files/notes.txt", "files/x",
		"from-jet.txt", "from-template.txt", "linux.conf", "named-by-data.conf", "other.conf", "part.jet", "shop.pem", "site.yaml", "templates/y", "vars.yaml",
	}, went)
	hashes := read.Hashes(0)
	for _, name := range went {
		if name != "site.yaml" && name != "vars.yaml" { // which were noted when they were loaded
			require.Equal(t, inputs.Hash(filepath.Join(s.dir, name)), hashes[filepath.Join(s.dir, name)], "the record has the hash of %s", name)
		}
	}
	text := strings.Join(listed, "\n")
	require.Contains(t, text, "workers get "+s.dir+"/shop.pem (the play reads it; it has a private key (OpenSSH))")
	require.Contains(t, text, "workers get "+s.dir+"/conf/web2.conf (an expression chooses the name: ")
	for name := range secret {
		if strings.Contains(name, "/") || name == "notes.txt" || name == "hosts2.ini" {
			continue
		}
		require.Contains(t, text, "workers do not get "+s.dir+"/conf/"+name+": ", name)
	}
	t.Log(text)
}

// TestKeysOfTheOperatorNeverGo has a play name copies of keys by which one logs in, certifies or signs: no worker gets the run.
func TestKeysOfTheOperatorNeverGo(t *testing.T) {
	for name, why := range map[string]string{
		"id_copy.pem": "private key", "authority-copy": "private key", "locked-authority": "private key", "authority.gz": "private key", "indented.yaml": "private key", "tarred.tgz": "private key", "zipped.zip": "private key",
		"base64.txt": "private key", "base64-of-gzip.yaml": "private key", "escaped.json": "private key", "wide.txt": "private key", "files/.netrc": "belongs to a person", "hosts.yaml": "of the operator",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "hosts: all\nccm: {resources: [file: [\"{{ Data.home }}/x\": {source: "+name+", mode: \"0600\"}]]}\n", "web1")
			s.secretFiles("")
			s.secretFiles("files")
			s.write("hosts.yaml", s.inventory(nil))
			c, _ := s.coordinator(queuetest.New(0), s.runner(s.inventory(nil)))
			c.Recipe.Without = s.paths("hosts.yaml") // keys are known by their public part
			err := s.packs(c)
			require.ErrorContains(t, err, s.dir+"/"+name+": the play reads it, but workers never get this file: ")
			require.ErrorContains(t, err, why)
		})
	}
}

// packs makes what workers get of a run, once the authority has certified a key.
func (s *site) packs(c *Coordinator) error {
	t := s.t
	require.NoError(t, c.Begin(t.Context()))
	defer func() { require.NoError(t, c.Close(t.Context())) }()
	_, err := c.run.authority.certificate(t.Context(), Certificate{SSHKey: sshtest.NewKey(t, "").PublicKey().Marshal(), Principals: []string{"deploy"}})
	require.NoError(t, err)
	for _, play := range c.Runner.Plays {
		compiler, err := catalog.New(play, c.Runner.Options.Catalog)
		require.NoError(t, err)
		defer compiler.Close()
		c.Runner.Needs.Folders = append(c.Runner.Needs.Folders, compiler.FolderUses()...)
	}
	_, err = c.run.parcels.content()
	return err
}

// TestFoldersThatHostsGet has a play send folders to hosts as a whole: with a worker they are the same, also hidden files, modes and links.
func TestFoldersThatHostsGet(t *testing.T) {
	s := newSite(t, `
hosts: all
ccm:
  resources:
    - scaffold:
        - "{{ Data.home }}/copy": {source: skel, engine: jet}
`, "web1")
	for name, text := range map[string]string{
		"skel/.profile": "p", "skel/sub/a": "[[ Host.name ]]", "skel/sub/b": "b", "resources/run.sh": "no resource uses it",
		"beside.txt": "no",
	} {
		s.write(name, text)
	}
	require.NoError(t, os.Chmod(filepath.Join(s.dir, "skel/sub"), 0o751))
	require.NoError(t, os.Symlink("sub/b", filepath.Join(s.dir, "skel/to-b")))
	files, listed, summary, said := s.held()
	require.Equal(t, 1, summary.Totals.Hosts.OK, said)
	require.Equal(t, []string{"site.yaml", "skel/.profile", "skel/sub/a", "skel/sub/b", "skel/to-b"}, slices.Sorted(maps.Keys(files)), strings.Join(listed, "\n"))
	home := s.hosts["web1"].Home
	for name, want := range map[string]string{"copy/.profile": "p", "copy/sub/a": "web1", "copy/to-b": "b"} {
		text, err := os.ReadFile(filepath.Join(home, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	info, err := os.Stat(filepath.Join(home, "copy/sub"))
	require.NoError(t, err)
	require.EqualValues(t, 0o751, info.Mode().Perm())
	target, err := os.Readlink(filepath.Join(home, "copy/to-b"))
	require.NoError(t, err)
	require.Equal(t, "sub/b", target)
}

// TestLinksLeadNowhereElse has links in folders from which an expression chooses lead to files that no worker may have.
func TestLinksLeadNowhereElse(t *testing.T) {
	s := newSite(t, "hosts: all\nccm: {resources: [file: [\"{{ Data.home }}/x\": {source: \"conf/{{ Host.name }}\", mode: \"0600\"}]]}\n", "web1")
	s.write("conf/web1", "x")
	s.write("secret/token", "t")
	s.secretFiles("elsewhere")
	for name, target := range map[string]string{
		"absolute": "/etc/passwd", "up": "../../../../../../../../etc/passwd", "key": "../elsewhere/id_copy.pem", "person": "../elsewhere/.netrc", "folder": "../secret", "inventory": "../hosts.yaml", "loop": "loop",
		"authority": "../authority", ".hidden": "web1",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(s.dir, "conf", name)))
	}
	require.NoError(t, os.Link(filepath.Join(s.dir, "coordinator"), filepath.Join(s.dir, "conf", "hard")))
	files, listed, summary, said := s.held()
	require.Equal(t, 1, summary.Totals.Hosts.OK, said)
	require.Equal(t, []string{"conf/web1", "site.yaml"}, slices.Sorted(maps.Keys(files)), strings.Join(listed, "\n"))
}
