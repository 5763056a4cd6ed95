package firewall

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A kernel is the kernel state for the nft of the tests, in a file below the root of the test. Tests on real hosts have
// a real one.
type kernel struct {
	Chains []kernelChain `json:"chains"`
}

type kernelChain struct {
	Family string           `json:"family"`
	Table  string           `json:"table"`
	Name   string           `json:"name"`
	Type   string           `json:"type,omitempty"`
	Hook   string           `json:"hook,omitempty"`
	Prio   json.RawMessage  `json:"prio,omitempty"`
	Policy string           `json:"policy,omitempty"`
	Rules  []map[string]any `json:"rules,omitempty"`
}

// nft is the program of the tests: the test program itself, below another name.
func nft() int {
	at := below("kernel")
	var k kernel
	text, err := os.ReadFile(at)
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if slices.Contains(os.Args, "list") {
		var all []map[string]any
		for _, c := range k.Chains {
			rules := c.Rules
			c.Rules = nil
			all = append(all, map[string]any{"chain": c})
			for _, r := range rules {
				r["family"], r["table"], r["chain"] = c.Family, c.Table, c.Name
				all = append(all, map[string]any{"rule": r})
			}
		}
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"nftables": all})
		return 0
	}
	script, err := os.ReadFile("/dev/stdin")
	for line := range strings.Lines(string(script)) {
		if err == nil {
			err = k.do(strings.TrimSpace(line))
		}
	}
	if err == nil {
		text, err = json.Marshal(k.settled())
	}
	if err == nil {
		err = os.WriteFile(at, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// settled is the kernel without traces of the history.
func (k kernel) settled() kernel {
	slices.SortFunc(k.Chains, func(a, b kernelChain) int { return strings.Compare(a.Family+a.Table+a.Name, b.Family+b.Table+b.Name) })
	handle := 0
	for _, c := range k.Chains {
		for _, r := range c.Rules {
			handle++
			r["handle"] = handle
		}
	}
	return k
}

// do carries out a line of a script.
func (k *kernel) do(line string) error {
	words := strings.SplitN(line, " ", 6)
	verb := words[0] + " " + words[1]
	in := func(c kernelChain) bool { return c.Family == words[2] && c.Table == words[3] }
	if words[1] == "table" {
		if verb == "delete table" {
			k.Chains = slices.DeleteFunc(k.Chains, in)
		}
		return nil
	}
	i := slices.IndexFunc(k.Chains, func(c kernelChain) bool { return in(c) && c.Name == words[4] })
	if i < 0 && verb == "add chain" {
		c := kernelChain{Family: words[2], Table: words[3], Name: words[4]}
		if len(words) > 5 {
			c.Type, c.Hook, c.Prio, c.Policy = "filter", "input", json.RawMessage("-10"), "accept"
		}
		k.Chains = append(k.Chains, c)
		return nil
	}
	if i < 0 {
		return fmt.Errorf("no such chain: %s", line)
	}
	c := &k.Chains[i]
	switch verb {
	case "flush chain":
		c.Rules = nil
	case "delete chain":
		k.Chains = slices.Delete(k.Chains, i, i+1)
	case "delete rule":
		c.Rules = slices.DeleteFunc(c.Rules, func(r map[string]any) bool { return "handle "+fmt.Sprint(r["handle"]) == words[5] })
	case "add rule", "insert rule":
		handle := 1.0
		for _, of := range k.Chains {
			for _, r := range of.Rules {
				handle = max(handle, r["handle"].(float64)+1)
			}
		}
		r := map[string]any{"handle": handle, "expr": expr(words[5])}
		if own, ok := parseRule(words[5]); ok {
			r["comment"] = own.name
		}
		if at := len(c.Rules); verb == "add rule" {
			c.Rules = slices.Insert(c.Rules, at, r)
		} else {
			c.Rules = slices.Insert(c.Rules, 0, r)
		}
	}
	return nil
}

// expr is a rule in the form that nft lists.
func expr(text string) (all []any) {
	match := func(op string, left, right any) {
		all = append(all, map[string]any{"match": map[string]any{"op": op, "left": left, "right": right}})
	}
	payload := func(protocol, field string) any {
		return map[string]any{"payload": map[string]any{"protocol": protocol, "field": field}}
	}
	if target, ok := strings.CutPrefix(text, "jump "); ok {
		return []any{map[string]any{"jump": map[string]any{"target": target}}}
	}
	if text == "ct state established,related accept" {
		match("in", map[string]any{"ct": map[string]any{"key": "state"}}, []string{"established", "related"})
		return append(all, map[string]any{"accept": nil})
	}
	r, ok := parseRule(text)
	if !ok {
		return []any{map[string]any{"wrong": text}}
	}
	if r.iface != "" {
		match("==", map[string]any{"meta": map[string]any{"key": "iifname"}}, r.iface)
	}
	if r.source.IsValid() {
		var source any = r.source.Addr().String()
		if !r.source.IsSingleIP() {
			source = map[string]any{"prefix": map[string]any{"addr": source, "len": r.source.Bits()}}
		}
		match("==", payload(r.family(), "saddr"), source)
	}
	var ports []any
	for _, s := range r.ports {
		if s.first == s.last {
			ports = append(ports, s.first)
		} else {
			ports = append(ports, map[string]any{"range": []uint16{s.first, s.last}})
		}
	}
	if len(ports) == 1 {
		match("==", payload(r.proto, "dport"), ports[0])
	} else if len(ports) > 1 {
		match("==", payload(r.proto, "dport"), map[string]any{"set": ports})
	}
	var how any
	if r.verdict == reject {
		how = map[string]any{"type": "icmpx", "expr": "port-unreachable"}
	}
	return append(all, map[string]any{r.verdict: how})
}
