// Command words counts sentences that have to be read twice, in documentation, messages and comments, by a list of patterns.
// It fails if a folder has more of them than limits.txt allows, so that texts only get plainer.
//
//	words                 count, print the worst files, compare with the limits
//	words -list PATH      print each match below PATH: file, line, pattern, sentence
//	words -update         write the limits
//	words -peer DIR       print the numbers of another repository next to this one's
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/e2e/ratchet"
)

// limitsFile is the path of the limits below the root.
const limitsFile = "e2e/words/limits.txt"

func main() {
	root := flag.String("root", ".", "the root `folder` of the repository")
	list := flag.String("list", "", "print each match in files whose `path` begins with this")
	only := flag.String("kind", "", "with -list: only this `kind`: docs, messages or comments")
	update := flag.Bool("update", false, "write the limits")
	peer := flag.String("peer", "", "another repository's `folder`")
	flag.Parse()
	if err := run(os.Stdout, *root, *list, kind(*only), *update, *peer); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// A finding is a sentence with the patterns that match it.
type finding struct {
	text
	patterns []string
}

func run(w io.Writer, root, list string, only kind, update bool, peer string) error {
	texts, err := read(os.DirFS(root))
	if err != nil {
		return err
	}
	found := match(texts)
	switch {
	case list != "":
		printFindings(w, found, list, only)
		return nil
	case peer != "":
		others, err := read(os.DirFS(peer))
		if err != nil {
			return err
		}
		printRates(w, "here", texts, found)
		printRates(w, filepath.Base(peer), others, match(others))
		return nil
	}
	printRates(w, "here", texts, found)
	printPatterns(w, found)
	printWorst(w, found)
	limits := filepath.Join(root, limitsFile)
	counted := countFolders(found)
	if update {
		return os.WriteFile(limits, ratchet.Encode(limitsComment, counted), 0o644)
	}
	content, err := os.ReadFile(limits)
	if err != nil {
		return err
	}
	allowed, err := ratchet.Decode(content)
	if err != nil {
		return fmt.Errorf("%s: %w", limits, err)
	}
	var errs []error
	for _, folder := range worse(counted, allowed) {
		_, name, _ := strings.Cut(folder, " ")
		errs = append(errs, fmt.Errorf("%s: %d sentences match, limit %d\n  hint: make words LIST=%s", folder, counted[folder], allowed[folder], name))
	}
	return errors.Join(errs...)
}

func match(texts []text) []finding {
	var list []finding
	for _, t := range texts {
		if names := find(t); len(names) > 0 {
			list = append(list, finding{t, names})
		}
	}
	return list
}

func printRates(w io.Writer, name string, texts []text, found []finding) {
	for _, k := range kinds {
		all, matching := 0, 0
		for _, t := range texts {
			if t.kind == k {
				all++
			}
		}
		for _, f := range found {
			if f.kind == k {
				matching++
			}
		}
		goal := ""
		if n, ok := wanted[k]; ok {
			goal = fmt.Sprintf(" (wanted: %d)", n)
		}
		fmt.Fprintf(w, "%-12s %-9s %6d sentences, %6d match, %4d per 1,000%s\n", name, k, all, matching, (1000*matching+all/2)/max(all, 1), goal)
	}
}

func printPatterns(w io.Writer, found []finding) {
	fmt.Fprintln(w)
	table := map[string]map[kind]int{}
	for _, f := range found {
		for _, name := range f.patterns {
			if table[name] == nil {
				table[name] = map[kind]int{}
			}
			table[name][f.kind]++
		}
	}
	for i := range patterns {
		n := table[patterns[i].name]
		fmt.Fprintf(w, "%5d docs %5d messages %5d comments  %s\n", n[docs], n[messages], n[comments], patterns[i].name)
	}
}

// worstFiles is the number of files that are printed of each kind.
const worstFiles = 8

func printWorst(w io.Writer, found []finding) {
	for _, k := range kinds {
		files := map[string]int{}
		for _, f := range found {
			if f.kind == k {
				files[f.file]++
			}
		}
		names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
			return cmp.Or(files[b]-files[a], cmp.Compare(a, b))
		})
		if len(names) > 0 {
			fmt.Fprintf(w, "\n%s, the files with most matches:\n", k)
		}
		for _, name := range names[:min(worstFiles, len(names))] {
			fmt.Fprintf(w, "%5d %s\n", files[name], name)
		}
	}
}

func printFindings(w io.Writer, found []finding, below string, only kind) {
	below = path.Clean(below)
	for _, f := range found {
		if (only == "" || f.kind == only) && (below == "." || f.file == below || strings.HasPrefix(f.file, below+"/")) {
			fmt.Fprintf(w, "%s:%d: [%s] %s\n", f.file, f.line, strings.Join(f.patterns, "; "), f.words)
		}
	}
}
