package main

import (
	"regexp"
	"strings"
)

// A kind is a class of texts. Each has its own limit.
type kind string

const (
	docs     kind = "docs"     // Markdown that people wrote
	messages kind = "messages" // string literals, documentation of properties, help topics
	comments kind = "comments" // comments in Go files
)

var kinds = []kind{docs, messages, comments}

// wanted is the number of matching sentences per 1,000 that each kind may have in the end. Comments have no number yet.
var wanted = map[kind]int{docs: 60, messages: 12}

// A text is one sentence or label, and where it begins.
type text struct {
	kind  kind
	file  string // relative to the root, with slashes
	line  int
	doc   bool // the first sentence of a doc comment or of a field's comment
	words string
}

// A pattern finds sentences that have to be read twice.
type pattern struct {
	name   string
	only   kind           // empty for all kinds
	doc    bool           // applies only to the beginning of doc comments
	match  *regexp.Regexp // applied to the sentence in lower case
	except *regexp.Regexp // removed from the sentence before match is applied; may be nil
}

func (p *pattern) in(t text) bool {
	if p.only != "" && p.only != t.kind || p.doc && !t.doc {
		return false
	}
	words := strings.ToLower(t.words)
	if p.except != nil {
		words = p.except.ReplaceAllString(words, "…")
	}
	return p.match.MatchString(words)
}

// find returns the names of the patterns that match a text.
func find(t text) []string {
	var names []string
	for i := range patterns {
		if patterns[i].in(t) {
			names = append(names, patterns[i].name)
		}
	}
	return names
}

func everywhere(name, match, except string) pattern {
	p := pattern{name: name, match: regexp.MustCompile(match)}
	if except != "" {
		p.except = regexp.MustCompile(except)
	}
	return p
}

func inComments(name, match, except string) pattern {
	p := everywhere(name, match, except)
	p.only = comments
	return p
}

func inMessages(name, match, except string) pattern {
	p := everywhere(name, match, except)
	p.only = messages
	return p
}

func beginning(name, match string) pattern {
	p := inComments(name, match, "")
	p.doc = true
	return p
}

// before is a word before which "who" lacks its noun: "shows who", "of who".
var before = strings.Join(strings.Fields("of for by to from is are was than as and or but not with if whether on at about see show shows know knows"), "|")

// patterns are the words and constructions that the project avoids. docs/CONTRIBUTING.md has a table of what to write.
var patterns = []pattern{
	// Words, and what to write instead.
	everywhere("stand: is, is set, contains", `\b(stands?|stood|standing)\b`, `\bstand(s|ing)? (for|by|alone)\b|\bstandby\b|\blong[- ]standing\b`),
	everywhere("is at, comes to: is, works on, amounts to", `\bat work\b|\b(comes?|came|coming) to\b|\bwhat (\w+ ){1,3}(is|are|was|were) at\b|\b(host|resource|run|worker|play|it|they)s? (is|are|was|were) at\b`, `\bat (least|most|line|version|the|a|an|position|port|end)\b`),
	everywhere("mend: fix, repair", `\bmend(s|ed|ing)?\b`, ""),
	everywhere("tell: report, print, send", `\b(tells?|told|telling)\b`, ""),
	everywhere("says: reports, prints, sets", `\bsays\b|\b(is|are|was|were) said\b`, ""),
	everywhere("come over, go over: apply, process", `\b(come|comes|came|go|goes|went|gone) over\b|\bworked on\b|\bhave done\b`, ""),
	everywhere("behind: after", `\bbehind\b`, `\bbehind (a|an|the|one|its|some)? ?(\w+ )?(nat|proxy|firewall|bastion|jump hosts?|load balancers?|router|url|urls)\b`),
	everywhere("beside, but for: next to, except, also", `\bbesides?\b|\bbut for\b`, `\blike [^,]*, but for\b`),
	everywhere("leave: skip, omit, keep", `\b(leave|leaves|left|leaving) (\S+ )?(out|as)\b|\b(is|are|was|were|be) left\b|\b(pass|passes|passed) over\b`, `\bleft (unchanged|untouched)\b`),
	everywhere("nobody, somebody: name the actor", `\b(nobody|somebody|whoever|anybody)\b|\bthere (is|are|was) no\b[^.;:]* (that|which|who)\b|\bthere (is|are|was) none\b`, ""),
	everywhere("is no, is none: is not, has no", `\b(is|are|was|were) (no|none|nobody)\b`, `\bthere (is|are|was|were) no\b|\b(is|are|was|were) no (longer|more|less|fewer)\b`),
	everywhere("ask: request, prompt, query", `\b(ask|asks|asked|asking)\b`, `--ask-[a-z-]+`),
	everywhere("shall, is to be: must, is, desired", `\bshall\b|\b(is|are|was|were) (not )?to be\b`, ""),
	everywhere("as it was: desired, unchanged, drifted", `\b(is|are|was|were|be|left|stays?) (not )?as (it|they|the|that|he)\b|\bas (it|they) (shall|was|were)\b`, ""),
	everywhere("is done with, is come: finished, started", `\b(is|are|was|were) (not )?(come|gone|done with)\b`, ""),
	everywhere("arithmetic, wins over: limit, overrides", `\barithmetic\b|\b(win|wins|won) over\b|\b(the )?most harm\b|\bcounts? over\b`, ""),
	everywhere("maybe: may, unknown", `\bmaybe\b`, ""),
	everywhere("is what, says whether: returns, reports", `\b(is|are) (what|whether|how|whom)\b|\bsays? (whether|what|who|how)\b`, ""),
	inComments("gives: returns", `\bgives\b`, `\bgives up\b`),
	everywhere("is nobody, is nothing: means none, disables", `\b(is|are) nothing\b|(""|nil|\b0|\bempty) is (none|no|nobody|nothing|all|any)\b`, ""),
	everywhere("go on: resume, continue", `\b(go|goes|went|gone|going) on\b`, ""),
	everywhere("let in, get in: log in, reach", `\b(be|is|are|been|was|were) let in\b|\blets? (\w+ )?in\b|\bget(s|ting)? in\b`, ""),
	everywhere("anew, once more: new, again", `\banew\b|\bonce more\b`, ""),
	// Sentences that begin nowhere, or that name things by what they do.
	everywhere("what is: a noun clause as a name", `\bwhat (is|are|was|were|has|have|had|becomes?|became|comes?|came|it|they|no|others?|nobody|happens with)\b|\b(of|with|by|all|from|for) what\b|^what\b`, `^what [^?]*\?$|^what'?s\b`),
	everywhere("that of, those that: name the thing", `\b(that|those) of\b|\bof those\b|\bthose (that|which|who|whose|with|without|to|in|whom)\b|\b(one|ones|that) that (is|are|was|were|has|have)\b|\bthe ones? (whose|whom)\b|\ball that\b`, ""),
	everywhere("who without a noun", `^who\b|[,;:(] ?(and |or |but )?who\b|\b(`+before+`) who(m)?\b`, `, who (is|are|was|were|has|have|can|will|may|must|reads?|runs?|owns?)\b`),
	everywhere("it is X that: say X first", `\bit is (told|said|what|that|the one|no)\b`, `\bno (longer|more)\b`),
	everywhere("has X done: use the active", `\b(has|have|had) (it|them|(the|a|an|each|every|its|their|all) \w+) (\w+ed|done|made|read|written|sent|run)\b`, ""),
	inMessages("there are A and B: use A or B", `\bthere (is|are) (only )?(--|%[sdvq]|".*" and|ccm-push )`, ""),
	// Beginnings of doc comments.
	beginning("a comment begins with of, that, who, it is", `^(of|that|those|who|whose|whom|what|it is|for|by|to whom|from whom|in which|with whom)\b`),
	beginning("X is those that: use a verb", `^\S+ (is|are) (what|that|those|who|whether|how|where|when|whom|which)\b`),
}
