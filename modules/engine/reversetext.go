package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Bounds of what is remembered, in bytes.
const (
	maxReversals = 1 << 20 // all, as a journal is bounded
	maxSubject   = 8 << 10 // what a resource is about
)

// A reversal is what was there before a resource was first applied.
type reversal struct {
	Play      string    `json:"play"` // as [modules.Remember] has it
	Type      string    `json:"type"`
	Name      string    `json:"name"`
	Subject   string    `json:"subject"`         // what it was about, as [modules.Reverser] has it
	Place     string    `json:"place,omitempty"` // the path of Subject, without symbolic links of directories
	Sensitive bool      `json:"sensitive,omitempty"`
	Run       string    `json:"run,omitempty"` // in which it was applied
	Time      time.Time `json:"time,omitzero"`
	// Properties are those of a resource of that type and name that brings it back.
	Properties json.RawMessage `json:"properties"`
}

// reversalText is what the host keeps, in the order in which resources were applied.
type reversalText struct {
	Reversals []reversal `json:"reversals"`
}

// ref is how the resource was called.
func (v *reversal) ref() string { return v.Type + "#" + v.Name }

// of reports whether it is that of a resource.
func (v *reversal) of(play, typ, name string) bool {
	return v.Play == play && v.Type == typ && v.Name == name
}

// parseReversals reads what was kept. Nothing is trusted because it is where it should be.
func parseReversals(text []byte) ([]reversal, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var all reversalText
	if err := decodeKept(text, &all); err != nil {
		return nil, err
	}
	if len(all.Reversals) > modules.MaxLeft {
		return nil, fmt.Errorf("it has more than %d resources", modules.MaxLeft)
	}
	seen := map[[3]string]bool{}
	for i, v := range all.Reversals {
		key := [3]string{v.Play, v.Type, v.Name}
		if modules.CheckRememberedAs(v.Play) != nil || !(modules.LeftEntry{Type: v.Type, Name: v.Name}).Valid() ||
			len(v.Run) > maxDueText || len(v.Subject) > maxSubject || !bytes.HasPrefix(v.Properties, []byte("{")) || seen[key] {
			return nil, fmt.Errorf("resource %d is not valid", i+1)
		}
		seen[key] = true
	}
	return all.Reversals, nil
}

// formatReversals is the text that [parseReversals] reads; nil if there is nothing to keep.
func formatReversals(all []reversal) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if len(all) > modules.MaxLeft {
		return nil, fmt.Errorf("it would be more than %d resources", modules.MaxLeft)
	}
	text, err := json.Marshal(reversalText{all})
	if err != nil {
		return nil, err
	}
	if len(text) >= maxReversals {
		return nil, fmt.Errorf("all that is remembered would have more than %d bytes", maxReversals)
	}
	return append(text, '\n'), nil
}
