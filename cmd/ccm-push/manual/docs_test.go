package manual_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write stubs of moved pages and the contents of long pages")

const (
	sources    = "../../.."
	movedTable = "internals/moved.md"
	stubTitle  = "# Moved\n"
)

// TestMovedSections compares docs/internals/moved.md with the headings that the pages had before
// they moved: each is on its old page, has a new place, or was dropped for a reason. A page
// without sections of its own is a stub for one version; -update writes it.
func TestMovedSections(t *testing.T) {
	t.Parallel()
	tree := readDocs(t)
	old, err := os.ReadFile("testdata/sections.txt")
	require.NoError(t, err)
	titles := map[string][]string{}
	for line := range strings.Lines(string(old)) {
		page, title, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		require.True(t, ok, line)
		titles[page] = append(titles[page], title)
	}
	tables := movedTables(t, tree[movedTable].text)
	for page := range tables {
		require.Contains(t, titles, page, "%s: %s is not an old page", movedTable, page)
	}
	for page, sections := range titles {
		moves := tables[page]
		stays := moves == nil
		for _, title := range sections {
			to, listed := moves[title]
			if others := moves[allOthers]; !listed && others != "" {
				to, listed = others, true
				target, _ := tree.follow(movedTable, linksOf(to)[0])
				require.Truef(t, target != nil && slices.Contains(target.titles, title), "%s: %s: the new page has no section %q; give it a row", movedTable, page, title)
			}
			if !listed {
				require.Containsf(t, tree[page].titles, title, "section %q of %s is gone; add a row to %s", title, page, movedTable)
				stays = true
				continue
			}
			links := linksOf(to)
			require.True(t, len(links) > 0 || strings.HasPrefix(to, "dropped: "), "%s: section %q of %s: a link, or dropped: and the reason", movedTable, title, page)
			for _, link := range links {
				_, path := tree.follow(movedTable, link)
				stays = stays || path == page
			}
		}
		for title := range moves {
			require.True(t, title == allOthers || slices.Contains(sections, title), "%s: %s had no section %q", movedTable, page, title)
		}
		if stays {
			require.NotNil(t, tree[page], "%s is gone", page)
			continue
		}
		want := stub(page, sections, moves)
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join(sources, "docs", page), []byte(want), 0o644))
			continue
		}
		require.NotNil(t, tree[page], "%s has moved: go test -run TestMovedSections ./cmd/ccm-push/manual -update writes its stub", page)
		require.Equal(t, want, tree[page].text, "%s has moved: go test -run TestMovedSections ./cmd/ccm-push/manual -update writes its stub", page)
	}
}

const allOthers = "all others"

// movedTables reads the rows of each old page: new places by title.
func movedTables(t *testing.T, text string) map[string]map[string]string {
	t.Helper()
	tables, page := map[string]map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			page = title
			require.NotContains(t, tables, page)
			tables[page] = map[string]string{}
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) != 4 || page == "" || strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| Section ") {
			continue
		}
		title := strings.TrimSpace(strings.ReplaceAll(cells[1], "\x00", "|"))
		require.NotContains(t, tables[page], title, page)
		tables[page][title] = strings.TrimSpace(strings.ReplaceAll(cells[2], "\x00", "|"))
	}
	return tables
}

// stub returns the text of a page that has moved: links to the pages that its sections moved to.
func stub(page string, sections []string, moves map[string]string) string {
	var links []string
	for _, title := range append(slices.Clone(sections), allOthers) {
		for _, link := range linksOf(moves[title]) {
			link, _, _ = strings.Cut(link, "#")
			if link = strings.TrimPrefix(filepath.Join("internals", link), "./"); !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
	}
	var b strings.Builder
	b.WriteString(stubTitle + "\nThe content of this page is now in:\n\n")
	for _, link := range links {
		fmt.Fprintf(&b, "- [%s](%s)\n", strings.TrimSuffix(link, ".md"), link)
	}
	fmt.Fprintf(&b, "\n[The list of sections](%s#%s) has the new place of each. This address is kept for one version.\n", movedTable, anchorOf(page))
	return b.String()
}

// TestLinks follows the links of all pages, and the names of pages in every other file of the
// project: the page exists, has the anchor, and has not moved.
func TestLinks(t *testing.T) {
	t.Parallel()
	tree := readDocs(t)
	readme, err := os.ReadFile(filepath.Join(sources, "README.md"))
	require.NoError(t, err)
	tree["../README.md"] = readPage(string(readme))
	var found []string
	follow := func(where, from, target string) {
		if reason := tree.dead(from, target); reason != "" {
			found = append(found, where+": "+target+": "+reason)
		}
	}
	for _, name := range tree.names() {
		for _, target := range linksOf(tree[name].prose) {
			follow("docs/"+name, name, target)
		}
		for _, m := range pageName.FindAllStringSubmatch(address.ReplaceAllString(tree[name].text, ""), -1) {
			follow("docs/"+name, "CHANGELOG.md", m[1]+m[2])
		}
	}
	mentions := 0
	require.NoError(t, filepath.WalkDir(sources, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, sources+"/")
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "docs", "e2e/words"}, name) { // words has pages of its own in tests
			return fs.SkipDir
		}
		if info, err := entry.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || name == "e2e/words/words_test.go" {
			return err // that test has pages of its own
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range pageName.FindAllSubmatch(text, -1) {
			mentions++
			follow(name, "CHANGELOG.md", string(m[1])+string(m[2]))
		}
		return nil
	}))
	require.Greater(t, mentions, 20)
	require.Empty(t, found, strings.Join(found, "\n"))
}

// pageName is the name of a page in a program, a script or a message: in a string or a comment,
// and as the argument of the tests that follow a page.
var pageName = regexp.MustCompile(`(?:\bdocs/|\bfollow(?:Section)?\(")([a-zA-Z0-9_/-]+\.md)(#[a-z0-9_-]+)?`)

// address is a link to another site.
var address = regexp.MustCompile(`https?://\S+`)

// TestUserPages holds the pages for users to their form: at most 2,000 words, contents above 800,
// and no names of tests or source files. -update writes the contents.
func TestUserPages(t *testing.T) {
	t.Parallel()
	tree := readDocs(t)
	for _, name := range tree.names() {
		if folder := filepath.Dir(name); folder != "start" && folder != "guide" && folder != "internals" || slices.Contains(unformed, name) {
			continue
		}
		page := tree[name]
		words := len(strings.Fields(contentsLine.ReplaceAllString(page.text, "")))
		if words > 800 && *update {
			require.NoError(t, os.WriteFile(filepath.Join(sources, "docs", name), []byte(page.withContents()), 0o644))
			page = readPage(page.withContents())
		}
		require.LessOrEqual(t, words, 2000, "docs/%s: cut it, or make two pages", name)
		if words > 800 {
			require.Contains(t, page.text, "\n"+page.contents()+"\n", "docs/%s: go test -run TestUserPages ./cmd/ccm-push/manual -update writes the contents", name)
		}
		if !strings.HasPrefix(name, "internals/") {
			require.Empty(t, ofSources.FindAllString(page.prose, -1), "docs/%s names tests or source files: these belong to docs/internals", name)
		}
	}
}

// unformed are the table of moved sections, and a page that moved before it was rewritten.
var unformed = []string{movedTable, "guide/from-ansible.md"}

var ofSources = regexp.MustCompile(`\b(Test|Benchmark|Fuzz)[A-Z]\w+|\b\w+\.go\b`)

// A page is a page of docs, with its headings and their anchors. prose is its text without
// blocks of code.
type page struct {
	text, prose string
	titles      []string // headings of all levels, without the #
	sections    []string // headings of the second level
	anchors     map[string]bool
}

// A docTree has all pages, by their paths below docs.
type docTree map[string]*page

func readDocs(t *testing.T) docTree {
	t.Helper()
	tree, root := docTree{}, filepath.Join(sources, "docs")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		tree[name] = readPage(string(text))
		return err
	}))
	require.Greater(t, len(tree), 50)
	return tree
}

var (
	fence     = regexp.MustCompile("^\\s*(```|~~~)")
	heading   = regexp.MustCompile(`^(#{1,6}) (.*?)\s*$`)
	link      = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)`)
	reference = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s+(\S+)`)
	inCode    = regexp.MustCompile("`[^`\n]*`")
	explicit  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	linked    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

func readPage(text string) *page {
	p := &page{text: text, anchors: map[string]bool{}}
	var prose strings.Builder
	closes := ""
	for line := range strings.Lines(text) {
		if m := fence.FindStringSubmatch(line); m != nil && (closes == "" || closes == m[1]) {
			if closes != "" {
				m[1] = ""
			}
			closes = m[1]
			continue
		}
		if closes != "" {
			continue
		}
		prose.WriteString(line)
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		p.titles = append(p.titles, m[2])
		if m[1] == "##" {
			p.sections = append(p.sections, m[2])
		}
		anchor, unique := anchorOf(m[2]), anchorOf(m[2])
		for n := 1; p.anchors[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", anchor, n)
		}
		p.anchors[unique] = true
	}
	p.prose = prose.String()
	for _, m := range explicit.FindAllStringSubmatch(p.prose, -1) {
		p.anchors[m[1]] = true
	}
	return p
}

// anchorOf returns the anchor of a heading on GitHub.
func anchorOf(title string) string {
	title = linked.ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// contents returns the line of links to the sections of a page.
func (p *page) contents() string {
	var links []string
	for _, title := range p.sections {
		links = append(links, fmt.Sprintf("[%s](#%s)", linked.ReplaceAllString(title, "$1"), anchorOf(title)))
	}
	return contentsMark + strings.Join(links, " · ")
}

const contentsMark = "Contents: "

var contentsLine = regexp.MustCompile(`(?m)^Contents: .*$`)

// withContents returns the text of a page with its contents before the first section.
func (p *page) withContents() string {
	before, after, ok := strings.Cut(p.text, "\n"+contentsMark)
	if ok {
		_, after, _ = strings.Cut(after, "\n")
		return before + "\n" + p.contents() + "\n" + after
	}
	before, after, _ = strings.Cut(p.text, "\n## ")
	return before + "\n" + p.contents() + "\n\n## " + after
}

// linksOf returns the targets of the links of a text that stay within the project.
func linksOf(text string) (targets []string) {
	for _, m := range append(link.FindAllStringSubmatch(inCode.ReplaceAllString(text, ""), -1), reference.FindAllStringSubmatch(text, -1)...) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			targets = append(targets, m[1])
		}
	}
	return targets
}

func (d docTree) names() []string {
	var names []string
	for name := range d {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// follow returns the page that a link of another page leads to, and its path below docs; nil if
// the link is to another file.
func (d docTree) follow(from, target string) (*page, string) {
	path, _, _ := strings.Cut(target, "#")
	if path == "" {
		return d[from], from
	}
	path = strings.TrimPrefix(filepath.Join(filepath.Dir(from), path), "../docs/")
	return d[path], path
}

// dead returns the reason why a link is dead, or "".
func (d docTree) dead(from, target string) string {
	_, anchor, _ := strings.Cut(target, "#")
	page, path := d.follow(from, target)
	if page == nil {
		if _, err := os.Stat(filepath.Join(sources, "docs", path)); err != nil {
			return "no such file"
		}
		return ""
	}
	if strings.HasPrefix(page.text, stubTitle) {
		return "has moved, see docs/" + movedTable
	}
	if anchor != "" && !page.anchors[anchor] {
		return "no such section"
	}
	return ""
}
