// Renders a chart with Go's own templates, the engine that helm is made of, and the few functions of helm's that our chart uses.
//
//	go run chart.go TEMPLATES-FOLDER < data.json
//
// It prints every file but those whose names begin with _, each behind a line ---. A function that is not here, or a value that is
// missing, ends it with 1: that is the point. It is not helm: it checks nothing against a cluster.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"
)

func inline(value interface{}) string {
	text, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	return string(text)
}

// The outermost level in block form, so that other keys may stand beside it; JSON below, which is YAML.
func toYaml(value interface{}) string {
	lines := []string{}
	switch at := value.(type) {
	case map[string]interface{}:
		for key, below := range at {
			lines = append(lines, key+": "+inline(below))
		}
		sort.Strings(lines)
	case []interface{}:
		for _, below := range at {
			lines = append(lines, "- "+inline(below))
		}
	default:
		lines = append(lines, inline(value))
	}
	return strings.Join(lines, "\n")
}

// Whole numbers as integers, as helm reads them: a float prints large ones with an exponent, and as a json.Number 0 would be true.
func integers(value interface{}) interface{} {
	switch at := value.(type) {
	case json.Number:
		whole, err := at.Int64()
		if err != nil {
			log.Fatal(err)
		}
		return whole
	case map[string]interface{}:
		for key, below := range at {
			at[key] = integers(below)
		}
	case []interface{}:
		for index, below := range at {
			at[index] = integers(below)
		}
	}
	return value
}

func main() {
	var data map[string]interface{}
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	if err := decoder.Decode(&data); err != nil {
		log.Fatal(err)
	}
	integers(data)
	chart := template.New("chart").Option("missingkey=error")
	chart.Funcs(template.FuncMap{
		"toYaml":     toYaml,
		"quote":      func(value interface{}) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"contains":   func(part, text string) bool { return strings.Contains(text, part) },
		"trimSuffix": func(end, text string) string { return strings.TrimSuffix(text, end) },
		"trunc": func(most int, text string) string {
			if len(text) > most {
				return text[:most]
			}
			return text
		},
		"default": func(otherwise, value interface{}) interface{} {
			if value == nil || value == "" {
				return otherwise
			}
			return value
		},
		"nindent": func(spaces int, text string) string {
			indent := "\n" + strings.Repeat(" ", spaces)
			return indent + strings.ReplaceAll(text, "\n", indent)
		},
		"include": func(name string, at interface{}) (string, error) {
			var out bytes.Buffer
			err := chart.ExecuteTemplate(&out, name, at)
			return out.String(), err
		},
	})
	files, _ := filepath.Glob(filepath.Join(os.Args[1], "*"))
	template.Must(chart.ParseFiles(files...))
	for _, file := range files {
		if name := filepath.Base(file); !strings.HasPrefix(name, "_") {
			fmt.Printf("---\n# %s\n", name)
			if err := chart.ExecuteTemplate(os.Stdout, name, data); err != nil {
				log.Fatal(err)
			}
		}
	}
}
