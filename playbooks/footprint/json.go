package footprint

import (
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/transport/start"
)

// JSON is the answer of a host, for one of its users, without a newline.
func (r *Report) JSON(host string, f start.Footprint) ([]byte, error) {
	files := []map[string]any{}
	for _, t := range f.Traces {
		files = append(files, map[string]any{
			"path": t.Path, "mode": t.Mode.String(), "size": t.Size, "owner": t.Owner, "modified": t.Modified.UTC().Format(time.RFC3339),
		})
	}
	line := map[string]any{"host": host, "user": f.User, "files": files}
	if r.Clean {
		line["check"], line["removed"] = !r.Removes, r.Removes && len(f.Held) == 0 && len(f.Left) == 0
	}
	if len(f.Held) > 0 {
		line["held"] = f.Held
	}
	if len(f.Left) > 0 {
		line["left"] = f.Left
	}
	if len(f.Skipped) > 0 {
		var skipped []map[string]string
		for _, s := range f.Skipped {
			skipped = append(skipped, map[string]string{"path": s.Path, "reason": skipReason(s)})
		}
		line["skipped"] = skipped
	}
	return printable.JSON(line)
}
