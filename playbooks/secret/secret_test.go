package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

func pathsOf(t *testing.T, text string) (p Paths, data any) {
	t.Helper()
	documents, err := yamlpos.Parse("data.yaml", []byte(text), yamlpos.Secrets())
	require.NoError(t, err)
	p.Marked(documents[0], nil)
	return p, documents[0].Any()
}

func TestPaths(t *testing.T) {
	p, data := pathsOf(t, "a: !secret x\nb: {c: !secret {d: 1, e: [2]}, f: 3}\nusers: [{name: n, key: !secret k}]\ndots: {a.b: !secret y, c: z}\nfree: 4\n")
	for path, secret := range map[string]bool{
		"a": true, "a.below": true, "b": true, "b.c": true, "b.c.d": true, "b.c.e.0": true, "b.f": false, "users": true, "users.0": true,
		"users.0.key": true, "users.7.key": true, "users.0.name": false, "dots": true, "dots.c": true, "free": false, "none": false,
	} {
		require.Equal(t, secret, p.ReadBy([]string{"free", path}, false), path)
	}
	require.True(t, p.ReadBy(nil, true))
	require.False(t, Paths{}.ReadBy([]string{"a"}, true))
	require.True(t, Everything().ReadBy([]string{"a"}, false))
	require.Equal(t, map[string]any{
		"a": Shown, "b": map[string]any{"c": map[string]any{"d": Shown, "e": []any{Shown}}, "f": int64(3)},
		"users": []any{map[string]any{"name": "n", "key": Shown}}, "dots": Shown, "free": int64(4),
	}, p.Redacted(data))
	var texts []string
	p.Each(data, func(text string) { texts = append(texts, text) })
	require.ElementsMatch(t, []string{"x", "1", "2", "k", "y", "z"}, texts)
	item := p.Below("users").Element()
	require.True(t, item.ReadBy([]string{"key"}, false))
	require.False(t, item.ReadBy([]string{"name"}, false))
}

func TestMask(t *testing.T) {
	const text = "pa\"ss<w>ö rd/+1"
	var m Mask
	m.Add(text)
	m.Add("short")
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	for _, form := range []string{
		text, string(quoted), url.QueryEscape(text), url.PathEscape(text),
		base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text)),
	} {
		require.NotContains(t, m.Text("before "+form+" after"), form)
		require.Contains(t, m.Text("before "+form+" after"), Shown)
	}
	for _, user := range []string{"a:", "ab:", "abc:"} {
		basic := base64.StdEncoding.EncodeToString([]byte(user + text + "x"))
		require.Contains(t, m.Text(basic), Shown, user)
	}
	require.Equal(t, "short", m.Text("short"))
	m.Add("first line\n  second line\nx\n")
	require.Equal(t, "+"+Shown+" x", m.Text("+second line x"))
	require.Equal(t, text, (*Mask)(nil).Text(text))
}
