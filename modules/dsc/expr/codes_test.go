package expr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestURI(t *testing.T) {
	for _, c := range []struct{ base, reference, want string }{
		{"https://h/", "a/b.html", "https://h/a/b.html"},
		{"https://h/", "/a/b.html", "https://h/a/b.html"},
		{"https://h/a/b", "c", "https://h/a/c"},
		{"https://h/a/b", "/c", "https://h/c"},
		{"https://h/a/b/", "c/1", "https://h/a/b/c/1"},
		{"https://h", "c", "https://h/c"},
		{"https://h", "/c", "https://h/c"},
		{"https://h", "", "https://h/"},
		{"https://h/a#top", "", "https://h/a#top"},
		{"https://h/a", "#part", "https://h/a#part"},
		{"https://h/a?x=1", "#part", "https://h/a?x=1#part"},
		{"https://h/a?x=1", "?y=2#part", "https://h/a?y=2#part"},
		{"https://h/a/", "b?q=t", "https://h/a/b?q=t"},
		{"https://h/a/b/", "../c", "https://h/a/c"},
		{"https://h/a/b/", "./c", "https://h/a/b/c"},
		{"https://h/", "a/../b", "https://h/b"},
		{"https://h/", "../../b", "https://h/b"},
		{"https://h/a", "http://other/b", "http://other/b"},
		{"https://h/a", "mailto:me@h", "mailto:me@h"},
		{"https://h/a", "//other", "https://other/"},
		{"https://h/a", "//other/b", "https://other/b"},
		{"HTTPS://H.Example/a", "B", "https://h.example/B"},
		{"https://u:p@h:8080/a", "b", "https://u:p@h:8080/b"},
		{"https://[2001:db8::1]:8080/", "a", "https://[2001:db8::1]:8080/a"},
		{"http://192.0.2.1/", "a/v1", "http://192.0.2.1/a/v1"},
		{"ftp://h/", "f.txt", "ftp://h/f.txt"},
		{"file:///C:/a/", "f.txt", "file:///C:/a/f.txt"},
		{"x-own:/a/b", "c", "x-own:/a/c"},
		{"https://h/", "b c.txt", "https://h/b%20c.txt"},
		{"https://h/", "b%20c.txt", "https://h/b%20c.txt"},
		{"https://h/", "b%2Fc", "https://h/b%2Fc"},
		{"https://h/", "café/x", "https://h/caf%C3%A9/x"},
		{"https://h/", "x?q=ü b%20c", "https://h/x?q=%C3%BC%20b%20c"},
	} {
		got, err := resolveURI(c.base, c.reference)
		require.NoError(t, err, "%s + %s", c.base, c.reference)
		require.Equal(t, c.want, got, "%s + %s", c.base, c.reference)
	}
	for _, c := range []struct{ base, reference, want string }{
		{"", "a", "the base is empty; write an absolute URI, such as https://example.com/"},
		{"h.example", "a", `the base "h.example" is not an absolute URI: it has no scheme, such as https://`},
		{"/a/b", "c", `the base "/a/b" is not an absolute URI: it has no scheme, such as https://`},
		{"mailto:me@h", "a", `nothing can be resolved against the base "mailto:me@h", which has no path`},
		{"https://h/", "///a", `the reference "///a" begins with three slashes`},
		{"https:///a", "b", `the result "https:///b" has no host`},
		{"https://h:x/", "a", `the base "https://h:x/" is not a URI: invalid port ":x" after host`},
		{"https://h/", "%zz", `the reference "%zz" is not a URI: invalid URL escape "%zz"`},
	} {
		_, err := resolveURI(c.base, c.reference)
		require.EqualError(t, err, c.want, "%s + %s", c.base, c.reference)
	}
}
