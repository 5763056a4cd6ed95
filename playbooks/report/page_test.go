package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

func TestMarkdown(t *testing.T) {
	golden(t, "mixed.md", []byte(written(t, collect(mixed()...), (*report.Run).Markdown)))
}

func TestHTML(t *testing.T) {
	text := written(t, collect(mixed()...), (*report.Run).HTML)
	_, body, _ := strings.Cut(text, "<body>")
	body, _, _ = strings.Cut(body, "<script>")
	golden(t, "mixed.html", []byte(body))
}

// TestSelfContained checks that the page's policy allows only its own script.
func TestSelfContained(t *testing.T) {
	text := written(t, collect(mixed()...), (*report.Run).HTML)
	script := regexp.MustCompile(`(?s)<script>(.*)</script>`).FindStringSubmatch(text)
	require.NotNil(t, script)
	sum := sha256.Sum256([]byte(script[1]))
	require.Contains(t, text, "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	require.NotRegexp(t, `(?i)https?:|src=|@import|url\(|<link|ZgotmplZ`, text)
	require.NotRegexp(t, `href="[^#]`, text)
}

// TestHostileHTML: the page has its own tags only, whatever a host sends.
func TestHostileHTML(t *testing.T) {
	tags := func(text string) map[string]int {
		found := map[string]int{}
		for _, m := range regexp.MustCompile(`</?[a-zA-Z!]+`).FindAllString(text, -1) {
			found[m]++
		}
		return found
	}
	text := written(t, collect(hostile()...), (*report.Run).HTML)
	friendly := tags(written(t, collect(mixed()...), (*report.Run).HTML))
	maps.Copy(friendly, tags(written(t, collect(fleet(200)...), (*report.Run).HTML)))
	for tag := range tags(text) {
		require.Contains(t, friendly, tag)
	}
	require.Equal(t, 1, tags(text)["<script"])
	require.Equal(t, 1, tags(text)["</script"])
	require.Equal(t, 1, tags(text)["</style"])
	require.Equal(t, tags(text)["<details"], tags(text)["</details"])
	require.NotContains(t, text, "alert(1)</script>")
	for _, r := range text {
		require.True(t, r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r), "%q", r)
	}
}

// TestHostileMarkdown keeps every text of a host within code.
func TestHostileMarkdown(t *testing.T) {
	text := written(t, collect(hostile()...), (*report.Run).Markdown)
	plain := withoutCode(t, text)
	require.NotRegexp(t, `alert|script|@everyone|javascript|title|\]\(|#1`, plain, text)
	require.Equal(t, 1, strings.Count(plain, "</details>"))
	require.Equal(t, 1, strings.Count(plain, "#"+"##"))
	for _, r := range text {
		require.True(t, r == '\n' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r), "%q", r)
	}
}

// withoutCode is Markdown without fenced blocks and code spans.
func withoutCode(t *testing.T, text string) string {
	var plain strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "":
			if strings.TrimRight(line, "\n") == fence {
				fence = ""
			}
		case len(ticks) >= 3 && !strings.Contains(line[len(ticks):], "`"):
			fence = ticks
		default:
			for line != "" {
				before, rest, found := strings.Cut(line, "`")
				plain.WriteString(before)
				if !found {
					break
				}
				rest = "`" + rest
				ticks := rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
				end := regexp.MustCompile("(^|[^`])" + ticks + "($|[^`])").FindStringIndex(rest[len(ticks):])
				require.NotNil(t, end, "a span that does not end: %s", rest)
				after := strings.Index(rest[len(ticks)+end[0]:], ticks) + len(ticks) + end[0] + len(ticks)
				line = rest[after:]
			}
		}
	}
	require.Empty(t, fence, "a block that does not end")
	return plain.String()
}

// TestKilledRun has a run without an end: the report contains that.
func TestKilledRun(t *testing.T) {
	run := collect(mixed()[:6]...)
	require.Contains(t, written(t, run, (*report.Run).Markdown), "`site.yaml`: not ended")
	require.Contains(t, written(t, run, (*report.Run).HTML), "unfinished")
	empty := collect(events.Summary{})
	for _, format := range []report.Format{(*report.Run).Markdown, (*report.Run).HTML, (*report.Run).JUnit} {
		require.NotEmpty(t, written(t, empty, format))
	}
}
