"""Addresses of the lessons, of their steps and questions, and of handed-in work."""

from django.urls import path

from lab.console.lessons import class_views, views

urlpatterns = [
    path("lessons/", views.lessons, name="lessons"),
    path("lessons/pictures/<str:name>", views.picture, name="lesson-picture"),
    path("lessons/<int:number>/", views.lesson, name="lesson"),
    path("lessons/<int:number>/steps/<int:step>/", views.step, name="lesson-step"),
    path("lessons/<int:number>/steps/<int:step>/predict", views.predict, name="lesson-predict"),
    path("lessons/<int:number>/steps/<int:step>/launch", views.launch, name="lesson-launch"),
    path(
        "lessons/<int:number>/steps/<int:step>/launched",
        views.launched_state,
        name="lesson-launched",
    ),
    path("lessons/<int:number>/steps/<int:step>/values", views.values, name="lesson-values"),
    path("lessons/<int:number>/steps/<int:step>/result", views.result, name="lesson-result"),
    path("lessons/<int:number>/questions/", views.questions, name="lesson-questions"),
    path("lessons/handed-in/<int:pk>.md", class_views.handed_in, name="handed-in"),
    path("lessons/class/", class_views.overview, name="lessons-class"),
    path("lessons/class/<int:number>.zip", class_views.everything, name="lessons-class-zip"),
]
