package catalog

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// promised finds the tokens in the properties of a catalog.
var promised = regexp.MustCompile(`"promised":"([0-9a-f]{64})"`)

// TestDownloads compiles archives for hosts and gets them once.
func TestDownloads(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var asks atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks.Add(1)
		fmt.Fprint(w, r.URL.Path)
	}))
	defer server.Close()
	downloads := NewDownloads()
	text := play(
		`- archive: [/a.zip: {url: "`+server.URL+`/a.zip", username: u, password: secret, fetch: controller, owner: root, group: root}]`,
		`- archive: [/b.zip: {url: "`+server.URL+`/a.zip", username: u, password: secret, fetch: controller, owner: root, group: root}]`,
		`- archive: [/c.zip: {url: "`+server.URL+`/a.zip", username: u, password: other, fetch: controller, owner: root, group: root}]`,
	)
	c := compiler(t, text, nil, Options{Downloads: downloads})
	tokens := map[string]bool{}
	var all []Contents
	for _, name := range []string{"web1", "web2"} {
		compiled, err := c.Compile(t.Context(), Host{Name: name})
		require.NoError(t, err)
		require.False(t, compiled.NeedsFull)
		for _, e := range compiled.Catalog.Entries {
			require.NotContains(t, string(e.Properties), "secret")
			token := promised.FindStringSubmatch(string(e.Properties))[1]
			require.True(t, compiled.Contents.Has(token))
			require.True(t, compiled.Contents.Promised(token))
			_, _, err := compiled.Contents.Open(token)
			require.Equal(t, errNotWaited, err)
			tokens[token] = true
		}
		all = append(all, compiled.Contents)
	}
	require.Len(t, tokens, 2, "equal requests are one, on all hosts")
	require.Zero(t, asks.Load(), "there was no request yet")

	var work sync.WaitGroup
	for _, contents := range all {
		for token := range tokens {
			work.Go(func() { contents.Await(context.Background(), token) })
		}
	}
	work.Wait()
	require.Equal(t, int64(2), asks.Load())
	for token := range tokens {
		r, size, err := all[1].Open(token)
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, "/a.zip", string(b))
		require.Equal(t, int64(len(b)), size)
	}
	entries, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, entries, "what is kept has no name")
	downloads.Close()
}

// TestDownloadsEnd closes the store in the middle of a download.
func TestDownloadsEnd(t *testing.T) {
	begun := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	defer server.Close()
	downloads := NewDownloads()
	c := compiler(t, play(`- archive: [/a.zip: {url: "`+server.URL+`/a.zip", fetch: controller, owner: root, group: root}]`), nil, Options{Downloads: downloads})
	compiled, err := c.Compile(t.Context(), Host{})
	require.NoError(t, err)
	token := promised.FindStringSubmatch(string(compiled.Catalog.Entries[0].Properties))[1]
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel() // one host has gone; another may still wait
	}()
	compiled.Contents.Await(ctx, token)
	_, _, err = compiled.Contents.Open(token)
	require.Equal(t, errNotWaited, err)
	downloads.Close()
	compiled.Contents.Await(t.Context(), token)
	_, _, err = compiled.Contents.Open(token)
	require.EqualError(t, err, "on the controller: "+server.URL+"/a.zip: context canceled")
}

// TestNothingIsDownloadedToLook compiles where nothing is applied.
func TestNothingIsDownloadedToLook(t *testing.T) {
	c := compiler(t, play(`- archive: [/a.zip: {url: "http://192.0.2.1/a.zip", fetch: controller, extract_parent: /opt, owner: root, group: root}]`), nil, Options{})
	compiled, err := c.Compile(t.Context(), Host{})
	require.NoError(t, err)
	require.True(t, compiled.NeedsFull)
	require.True(t, c.NeedsFull())
	token := promised.FindStringSubmatch(string(compiled.Catalog.Entries[0].Properties))[1]
	require.False(t, compiled.Contents.Has(token))
}

// TestNeedsFull decides before any host is known.
func TestNeedsFull(t *testing.T) {
	const rest = `url: "https://h/a.zip", owner: root, group: root`
	for resource, want := range map[string]bool{
		`- exec: [a: {}]`:                                                                   false,
		`- archive: [/a.zip: {` + rest + `}]`:                                               true,
		`- archive: [/a.zip: {` + rest + `, fetch: controller}]`:                            false,
		`- archive: [/a.zip: {` + rest + `, fetch: "{{ Facts.os }}"}]`:                      true,
		`- archive: [/a.zip: {` + rest + `, fetch: controller, extract_parent: "{{ 1 }}"}]`: false,
		`- archive: [/a.zip: {` + rest + `, control: {if: Facts.os == 'linux'}}]`:           false,
		`- archive: [{"/{{ Item }}.zip": {` + rest + `, each: [a]}}]`:                       false,
		`- archive: [/a.zip: {ensure: absent}]`:                                             false,
	} {
		require.Equal(t, want, compiler(t, play(resource), nil, Options{}).NeedsFull(), resource)
	}
}

// TestHostsDoNotChooseDownloads checks that data from a host cannot influence a download that the host does not make
// itself.
func TestHostsDoNotChooseDownloads(t *testing.T) {
	const choice = "data from a host cannot choose a download of the controller\n" +
		"  hint: choose between fixed values, such as \"{{ Facts.x == 'y' ? 'a' : 'b' }}\", use data of the inventory, or let the host download it"
	const rest = ", owner: root, group: root}]"
	for _, test := range []struct{ name, properties, loading, compiling string }{
		{"the host's own", "url: 'https://h/{{ Facts.os }}/a.zip'", "", ""},
		{"a url", "url: 'https://h/{{ Facts.os }}/a.zip', fetch: controller", "site.yaml:4:31: " + choice, ""},
		{"a header, through data", "url: 'https://h/a.zip', headers: {X: '{{ Data.os }}'}, fetch: controller", "site.yaml:4:59: " + choice, ""},
		{"a choice", "url: \"https://h/{{ Facts.os == 'linux' ? 'a' : 'b' }}/a.zip\", fetch: controller", "", ""},
		{"an element", "url: 'https://h/{{ Item }}/a.zip', each: '{{ Facts.list }}', fetch: controller", "site.yaml:4:31: " + choice, ""},
		{"known late", "url: 'https://h/{{ Facts.os }}/a.zip', fetch: '{{ Data.role == \"web\" ? \"controller\" : \"host\" }}'", "", "site.yaml:4:31: " + choice},
	} {
		t.Run(test.name, func(t *testing.T) {
			site := strings.Replace(play("- archive: [/a.zip: {"+test.properties+rest), "none: ", "none: , os: '{{ Facts.os }}'", 1)
			plays, err := load.Parse(t.Context(), "site.yaml", []byte(site), builtin.Types())
			require.NoError(t, err)
			plays[0].Folder = t.TempDir()
			c, err := New(plays[0], Options{})
			if test.loading != "" {
				require.EqualError(t, err, test.loading)
				return
			}
			require.NoError(t, err)
			t.Cleanup(c.Close)
			if _, err = c.Compile(t.Context(), web1); test.compiling != "" {
				require.EqualError(t, err, test.compiling)
				return
			}
			require.NoError(t, err)
		})
	}
}

// TestDownloadedFiles compiles files of web servers: a file with a checksum is downloaded at a host's request, a file
// without at once, and once for all hosts.
func TestDownloadedFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var asks atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks.Add(1)
		fmt.Fprint(w, r.URL.Path)
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	const path = "/f"
	digest := modules.TextContent(path).SHA256()
	text := func(properties string) string {
		return play(`- file: [/f: {source: "` + server.URL + path + `?token=hunter2", ` + properties + `}]`)
	}
	for _, test := range []struct {
		name, properties string
		compiled, got    int64 // requests
		promised         bool
		err              string
	}{
		{"checksum", "checksum: " + digest, 0, 1, true, ""},
		{"none", "checksum: none", 1, 1, false, ""},
		{"wrong checksum", "checksum: " + strings.Repeat("0", 64), 0, 1, true, "on the controller: " + server.URL + path + `?…: checksum mismatch, expected "` + strings.Repeat("0", 64) + `" got "` + digest + `" (if you trust the new file, correct the property "checksum")`},
	} {
		t.Run(test.name, func(t *testing.T) {
			asks.Store(0)
			downloads := NewDownloads()
			defer downloads.Close()
			downloads.Client.Roots = roots
			c := compiler(t, text(test.properties), nil, Options{Downloads: downloads})
			var last Contents
			var token string
			for _, name := range []string{"web1", "web2"} {
				compiled, err := c.Compile(t.Context(), Host{Name: name})
				require.NoError(t, err)
				require.False(t, compiled.NeedsFull)
				sent := string(compiled.Catalog.Entries[0].Properties)
				require.NotContains(t, sent, "hunter2")
				if test.promised {
					token = promised.FindStringSubmatch(sent)[1]
				} else {
					require.Contains(t, sent, digest)
					token = digest
				}
				last = compiled.Contents
			}
			require.Equal(t, test.compiled, asks.Load())
			require.True(t, last.Has(token))
			last.Await(t.Context(), token)
			r, _, err := last.Open(token)
			require.Equal(t, test.got, asks.Load())
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			b, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Equal(t, path, string(b))
		})
	}
	t.Run("who is not trusted", func(t *testing.T) {
		downloads := NewDownloads()
		defer downloads.Close()
		_, err := compiler(t, text("checksum: none"), nil, Options{Downloads: downloads}).Compile(t.Context(), Host{Name: "web1"})
		require.ErrorContains(t, err, "certificate signed by unknown authority")
		require.NotContains(t, err.Error(), "hunter2")
	})
	t.Run("nothing is got where nothing is applied", func(t *testing.T) {
		asks.Store(0)
		_, err := compiler(t, text("checksum: none"), nil, Options{}).Compile(t.Context(), Host{Name: "web1"})
		require.NoError(t, err)
		require.Zero(t, asks.Load())
	})
	t.Run("what a host chooses", func(t *testing.T) {
		_, err := load.Parse(t.Context(), "site.yaml", []byte(play(`- file: [/f: {source: "https://{{ Facts.x }}/f", checksum: none}]`)), builtin.Types())
		require.ErrorContains(t, err, "data from a host cannot choose which file ccm-push reads")
	})
}
