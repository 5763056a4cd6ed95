package keys

// Bounds of [Meta].
const (
	MaxRetries    = 1000
	MaxSemaphores = 16
	LeastLimit    = 1.0 / (24 * 60 * 60) // tries per second: one a day
	MostLimit     = 1e6
	// SemaphoreForm is how a semaphore is written.
	SemaphoreForm = `^[A-Za-z_][A-Za-z0-9_./-]{0,63}(:[1-9][0-9]{0,5})?$`
)

// Meta is the keys that say how the engine treats a resource, whatever its type. They
// are a part of [Resource].
type Meta struct {
	Retry     int      `json:"retry" doc:"how often it is tried again after a failure, 0-1000"`
	Delay     Seconds  `json:"delay" doc:"how long to wait before it is tried again, such as 5s; a bare number is seconds"`
	Timeout   Seconds  `json:"timeout" doc:"how long one try may take, such as 5m; a bare number is seconds; default: no limit. A type with a timeout of its own keeps that"`
	Limit     float64  `json:"limit" doc:"how many tries there may be per second"`
	Sema      []string `json:"sema" doc:"semaphores to hold while something is changed: NAME or NAME:N, where N is how many hosts may hold it at once; default 1"`
	Hidden    bool     `json:"hidden" doc:"define it, and do not run it; what depends on it runs"`
	Reverse   bool     `json:"reverse" doc:"put back what was there before, in the first whole run in which the manifest is without it; the play needs remembered_as"`
	AutoEdge  *bool    `json:"autoedge" default:"true" doc:"take part in automatic edges, with strategy graph"`
	AutoGroup *bool    `json:"autogroup" default:"true" doc:"be carried out together with others of its type, with strategy graph"`
}
