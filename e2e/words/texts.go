package main

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// shortest is the number of words from which on a text counts.
const shortest = 3

// generated is in pages that a program writes. Their texts count where the program has them.
const generated = "<!-- Made of the "

// skipped reports whether a file does not count: it is generated, or it has the patterns, and sentences that match them.
func skipped(file string, content []byte) bool {
	return strings.Contains(string(content[:min(len(content), 200)]), generated) ||
		file == "e2e/words/patterns.go" || file == "e2e/words/words_test.go"
}

// read returns the texts below a folder, in the order of the files.
func read(root fs.FS) ([]text, error) {
	var list []text
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			name := entry.Name()
			if file != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "vendor" || file == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		parse := map[string]func(string, []byte) ([]text, error){".md": markdown, ".go": source, ".txt": topic}[path.Ext(file)]
		if parse == nil {
			return nil
		}
		content, err := fs.ReadFile(root, file)
		if err != nil || skipped(file, content) {
			return err
		}
		found, err := parse(file, content)
		list = append(list, found...)
		return err
	})
	return list, err
}

// topic returns the texts of a help topic, which is a text file in a folder called topics.
func topic(file string, content []byte) ([]text, error) {
	if path.Base(path.Dir(file)) != "topics" {
		return nil, nil
	}
	return paragraphs(text{kind: messages, file: file, line: 1}, string(content)), nil
}

var (
	fence   = regexp.MustCompile("^\\s*(```|~~~)")
	marker  = regexp.MustCompile(`^\s*([-*+]|\d+[.)]|#+|>)\s+`)
	code    = regexp.MustCompile("``.*?``|`[^`]*`")
	link    = regexp.MustCompile(`!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])`)
	ruler   = regexp.MustCompile(`^[\s|:=-]+$`)
	remarks = regexp.MustCompile(`<[^>]*>`)
)

// markdown returns the sentences of a page: of paragraphs, items of lists, headings and cells of tables, without code.
func markdown(file string, content []byte) ([]text, error) {
	var list []text
	paragraph, begins, fenced := "", 0, false
	flush := func() {
		list = append(list, sentences(text{kind: docs, file: file, line: begins}, paragraph)...)
		paragraph = ""
	}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case fence.MatchString(line):
			flush()
			fenced = !fenced
			continue
		case fenced:
			continue
		case strings.TrimSpace(line) == "" || ruler.MatchString(line):
			flush()
			continue
		case strings.HasPrefix(strings.TrimSpace(line), "|"):
			flush()
			begins = number
			line = strings.ReplaceAll(code.ReplaceAllString(line, "X"), `\|`, "/") // code may contain bars
			for cell := range strings.SplitSeq(line, "|") {
				paragraph = link.ReplaceAllString(cell, "$1")
				flush()
			}
			continue
		case marker.MatchString(line):
			flush()
		}
		heading := strings.HasPrefix(line, "#")
		if paragraph == "" {
			begins = number
		}
		line = marker.ReplaceAllString(line, "")
		paragraph += remarks.ReplaceAllString(link.ReplaceAllString(code.ReplaceAllString(line, "X"), "$1"), "") + " "
		if heading {
			flush()
		}
	}
	flush()
	return list, nil
}

var paragraphEnd = regexp.MustCompile(`\n\s*\n|\n[ \t]+`)

// paragraphs returns the sentences of a text in which an empty line, or blanks at the beginning of a line, end a sentence.
func paragraphs(at text, words string) []text {
	var list []text
	for {
		end := paragraphEnd.FindStringIndex(words)
		if end == nil {
			return append(list, sentences(at, words)...)
		}
		list = append(list, sentences(at, words[:end[0]])...)
		at.line += strings.Count(words[:end[1]], "\n")
		at.doc = false
		words = words[end[1]:]
	}
}

var sentenceEnd = regexp.MustCompile(`[.!?]["'”)\]*]*\s+`)

// sentences splits a paragraph. Of a doc comment only the first sentence stays its beginning.
func sentences(at text, words string) []text {
	var list []text
	begin := 0
	add := func(end int) {
		one := strings.Join(strings.Fields(words[begin:end]), " ")
		if count(one) >= shortest {
			t := at
			t.words = one
			list = append(list, t)
		}
		at.doc = false
		begin = end
	}
	for _, end := range sentenceEnd.FindAllStringIndex(words, -1) {
		rest := words[end[1]:]
		if abbreviated(words[:end[0]+1]) || rest != "" && unicode.IsLower(rune(rest[0])) {
			continue
		}
		add(end[1])
	}
	add(len(words))
	return list
}

func abbreviated(words string) bool {
	for _, short := range []string{"e.g.", "i.e.", "etc.", "vs.", "cf.", "..."} {
		if strings.HasSuffix(words, short) {
			return true
		}
	}
	return false
}

// count returns the number of words: letters in a row, after blanks.
func count(words string) int {
	n := 0
	for word := range strings.FieldsSeq(words) {
		letters := strings.TrimFunc(word, unicode.IsPunct)
		if letters != "" && !strings.ContainsFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' }) {
			n++
		}
	}
	return n
}
