// The board of a race: a row for each policy, with its score.
"use strict";
const board = {
  add(list, title, colour) {
    const row = document.createElement("li");
    row.style.setProperty("--colour", colour);
    row.innerHTML = '<span class="who"></span><span class="track"><span class="fill"></span></span><span class="score"></span><span class="leads"></span>';
    setParts(row, { who: title });
    list.append(row);
  },
  // `goal`: the score of a full bar; `word`: the word at the only row with the highest score.
  show(list, scores, goal, word = "leads") {
    const best = Math.max(...scores);
    const isAlone = best > 0 && scores.filter((score) => score === best).length === 1;
    scores.forEach((score, number) => {
      const row = list.children[number];
      const leads = isAlone && score === best;
      row.querySelector(".fill").style.width = `${(100 * score) / goal}%`;
      setParts(row, { score, leads: leads ? word : "" });
    });
  },
  words: (titles, scores) => titles.map((title, number) => `${title} ${scores[number]}`).join(", "),
};
