package pumphouse

import (
	"bytes"
	"encoding/json"
	"strings"
)

// leasedJobs reads the jobs of an answer. One payload that cannot be read does not stop the others: each is read alone then.
func leasedJobs(answer []byte) ([]*Job, error) {
	var whole struct{ Jobs []*Job }
	err := json.Unmarshal(answer, &whole)
	if err == nil {
		for _, job := range whole.Jobs {
			job.decode()
		}
		return whole.Jobs, nil
	}
	var jobs []*Job
	// guard: go-reads-jobs-alone
	for _, text := range jobTexts(answer) {
		job := new(Job)
		problem := json.Unmarshal(text.whole, job)
		if problem != nil {
			job = &Job{unreadable: "its data cannot be read: " + problem.Error()}
			if json.Unmarshal(text.withoutData(), job) != nil {
				continue
			}
		}
		job.decode()
		jobs = append(jobs, job)
	}
	if len(jobs) == 0 {
		return nil, &Error{Code: "invalid_response", Message: "the answer is not what it should be", Status: 200, Err: err}
	}
	return jobs, nil
}

// decode reads JSON that the server gives in base64, because it is nested deeply.
func (j *Job) decode() {
	if j.JSON != nil || j.Bytes == nil || !jsonType.MatchString(j.ContentType) {
		return
	}
	var text json.RawMessage
	switch err := json.Unmarshal(j.Bytes, &text); {
	case err == nil:
		j.JSON, j.Bytes = text, nil
	case strings.Contains(err.Error(), "max depth"):
		j.unreadable = "its data cannot be read: " + err.Error()
	}
}

// jobText is the text of a job, and where its payload is in it; dataEnd is 0 if it has none.
type jobText struct {
	whole              []byte
	dataStart, dataEnd int
}

func (t jobText) withoutData() []byte {
	if t.dataEnd == 0 {
		return nil
	}
	parts := [][]byte{t.whole[:t.dataStart], []byte("null"), t.whole[t.dataEnd:]}
	return bytes.Join(parts, nil)
}

// jobTexts finds the jobs of an answer. Strings apart, brackets are all that matters.
func jobTexts(answer []byte) []jobText {
	var texts []jobText
	var name string
	depth, start, data, dataEnd := 0, 0, 0, 0
	isInJobs := false
	for at := 0; at < len(answer); at++ {
		isOfJob := isInJobs && depth == 3
		switch letter := answer[at]; letter {
		case '"':
			end := stringEnd(answer, at)
			name = string(answer[at:end])
			at = end - 1
		case ':':
			if depth == 1 {
				isInJobs = name == `"jobs"`
			}
			if isOfJob && (name == `"data"` || name == `"data_base64"`) {
				data, dataEnd = at+1, 0
			}
		case '{', '[':
			depth++
			if isInJobs && depth == 3 {
				start, data, dataEnd = at, 0, 0
			}
		case ',', '}', ']':
			if isOfJob && data > 0 && dataEnd == 0 {
				dataEnd = at
			}
			if letter == ',' {
				continue
			}
			if isOfJob {
				text := jobText{whole: answer[start : at+1]}
				if dataEnd > 0 {
					text.dataStart, text.dataEnd = data-start, dataEnd-start
				}
				texts = append(texts, text)
			}
			depth--
		}
	}
	return texts
}

// stringEnd returns the index behind the closing quote of the string at start.
func stringEnd(text []byte, start int) int {
	for at := start + 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}
